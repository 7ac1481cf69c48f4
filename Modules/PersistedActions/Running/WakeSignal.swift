import Synchronization

/// Wakes the loop of a worker. Several signals before the loop wakes lead to one round of the loop.
final class WakeSignal: Sendable {
  /// Has an element for each wake-up. Only the worker's loop may read it.
  let wakes: AsyncStream<Void>
  private let continuation: AsyncStream<Void>.Continuation
  private let state = Mutex(Reasons())

  /// The reasons of the signals since the loop woke last.
  struct Reasons {
    /// Whether the loop has to read the store for due actions.
    var mustReadStore = true
    /// Whether other workers may claim actions now, because the event may have woken them too.
    var othersMayClaim = true
  }

  init() {
    (wakes, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
  }

  /// Wakes the loop.
  ///
  /// - Parameters:
  ///   - readingStore: Whether the loop has to read the store for due actions: after a signal, and at a due date.
  ///     `false` when a slot is free and the store still has waiting actions.
  ///   - othersMayClaim: Whether other workers may claim actions now, because the event may have woken them too. `false`
  ///     for a timer of this worker.
  func send(readingStore: Bool = true, othersMayClaim: Bool = true) {
    state.withLock { reasons in
      if readingStore { reasons.mustReadStore = true }
      if othersMayClaim { reasons.othersMayClaim = true }
    }
    continuation.yield()
  }

  /// Returns the reasons of the signals since the last call.
  func takeReasons() -> Reasons {
    state.withLock { reasons in
      defer { reasons = Reasons(mustReadStore: false, othersMayClaim: false) }
      return reasons
    }
  }

  /// Ends the loop.
  func finish() { continuation.finish() }
}
