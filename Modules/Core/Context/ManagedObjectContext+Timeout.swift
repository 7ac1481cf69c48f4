extension ManagedObjectContext {
  /// Runs a block in the context without blocking the caller, and cancels the block when it takes longer than a time.
  ///
  /// The time includes the wait for earlier blocks of the context. The cancellation interrupts a running fetch in the
  /// store, as the cancellation of the calling task does. A save is interrupted only before its commit: a block that
  /// ends with a success after the time has its result returned. The call waits for the end of the block in any case: a
  /// block that waits for earlier blocks is cancelled at its turn.
  ///
  /// May be called on any thread. Costs two child tasks more than the form without a time.
  ///
  /// ```swift
  /// let count = try await context.perform(timeout: .seconds(2)) { try $0.count(for: FetchRequest(Track.self)) }
  /// ```
  ///
  /// - Throws: ``ErrorCode/timedOut`` for a block that the time has cancelled, with the error of the block as
  ///   ``CoherenceError/underlying``, and with its outcome, which says nothing about saves that the block has finished
  ///   before; otherwise as the form without a time.
  @discardableResult
  public final func perform<T: Sendable>(
    timeout: Duration, _ body: @escaping @Sendable (ManagedObjectContext) throws -> T
  ) async throws -> T {
    try await withThrowingTaskGroup(of: TimedEvent<T>.self) { group in
      group.addTask { TimedEvent.finished(try await self.perform { try body(self) }) }
      group.addTask {
        // Without an error after a cancellation: the result of the block decides.
        await TimedWait.wait(for: timeout)
        return TimedEvent.timeIsUp
      }
      defer { group.cancelAll() }
      if case .finished(let result)? = try await group.next() { return result }
      group.cancelAll()
      do {
        guard case .finished(let result)? = try await group.next() else { throw CancellationError() }
        return result
      } catch {
        guard !Task.isCancelled, error.isCancellation else { throw error }
        throw CoherenceError(
          .timedOut, "A block of the \(label) took longer than \(timeout); give it more time, or ask for less at once.",
          underlying: error, outcome: (error as? CoherenceError)?.outcome ?? .notApplied)
      }
    }
  }
}

/// The end of a block, or of the time that the block has.
private enum TimedEvent<T: Sendable>: Sendable {
  case finished(T)
  case timeIsUp
}

extension Error {
  /// Whether the error says that a task was cancelled.
  fileprivate var isCancellation: Bool {
    self is CancellationError || (self as? CoherenceError)?.code == .cancelled
  }
}

extension Duration {
  /// The duration, or about 35,000 years for a longer one, such as `.seconds(Int64.max)` for no limit. A sleep ends the
  /// process if the number of seconds until its end, counted from the start of the machine, exceeds 64 bits.
  package var limitedForSleep: Duration { min(self, .seconds(1 << 40)) }
}
