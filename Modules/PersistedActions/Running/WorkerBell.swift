import Synchronization

/// Wakes the loop of a worker. Several rings before the loop wakes lead to one round of the loop.
final class WorkerBell: Sendable {
  /// Has an element for each wake-up. Only the worker's loop may read it.
  let rings: AsyncStream<Void>
  private let continuation: AsyncStream<Void>.Continuation
  private let state = Mutex(Rings())

  /// A summary of the rings since the loop woke last.
  struct Rings {
    /// Whether the loop has to read the store for due actions.
    var mustLook = true
    /// Whether other workers may have been woken too.
    var hasNews = true
  }

  init() {
    (rings, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
  }

  /// Wakes the loop.
  ///
  /// - Parameters:
  ///   - looking: Whether the loop has to read the store for due actions: after a signal, and at a due date. `false`
  ///     when a slot is free and the store still has waiting actions.
  ///   - isNews: Whether other workers may have been woken too. `false` for a timer of this worker.
  func ring(looking: Bool = true, isNews: Bool = true) {
    state.withLock { rings in
      if looking { rings.mustLook = true }
      if isNews { rings.hasNews = true }
    }
    continuation.yield()
  }

  /// Returns the summary of the rings since the last call.
  func takeRings() -> Rings {
    state.withLock { rings in
      defer { rings = Rings(mustLook: false, hasNews: false) }
      return rings
    }
  }

  /// Ends the loop.
  func finish() { continuation.finish() }
}
