// The reports to the observers of fetches, and to the observer of the stack. Each report to the latter first checks
// `StackObservers.exist`, so that a process without an observer pays for no lock.

extension PersistentStoreCoordinator {
  /// Calls an observer for each later fetch of a context with ``ManagedObjectContext/reportsFetches``. The coordinator
  /// does not retain the observer.
  package final func addFetchObserver(_ observer: any FetchObserver) { fetchObservers.add(observer) }

  /// Ends the calls of an observer.
  package final func removeFetchObserver(_ observer: any FetchObserver) { fetchObservers.remove(observer) }

  /// The present scope of the stack's observer, which the caller restores where its work continues on another thread;
  /// `nil` for none.
  package final var carriedScope: (any StackScope)? { StackObservers.exist ? observer?.scope() : nil }

  /// Runs a block as an operation reported to the observer, if any.
  ///
  /// - Parameter records: The numbers of records that a block with the result has treated, see
  ///   ``StackOutcome/records``.
  package final func observed<T>(
    _ operation: @autoclosure () -> StackOperation, _ body: () throws -> T, records: (T) -> [String: Int] = { _ in [:] }
  ) rethrows -> T {
    guard StackObservers.exist, let observation = observer?.began(operation()) else { return try body() }
    return try observation.reportingOutcome(body, records: records)
  }

  /// Whether an observer receives reports.
  package final var isObserved: Bool { StackObservers.exist && observer != nil }

  /// Reports a number to the observer, if any.
  package final func report(_ gauge: @autoclosure () -> StackGauge) {
    if StackObservers.exist, let observer { observer.measured(gauge()) }
  }

  /// Runs an asynchronous block as an operation reported to the observer, if any.
  ///
  /// - Parameter outcome: The outcome of a block that returns.
  package final func observed<T>(
    _ operation: @autoclosure () -> StackOperation, _ body: () async throws -> T,
    outcome: (T) -> StackOutcome = { _ in StackOutcome() }
  ) async rethrows -> T {
    guard StackObservers.exist, let observation = observer?.began(operation()) else { return try await body() }
    do {
      let result = try await observation.run(body)
      observation.ended(outcome(result))
      return result
    } catch {
      observation.ended(StackOutcome(error: error))
      throw error
    }
  }
}
