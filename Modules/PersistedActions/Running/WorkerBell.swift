import Synchronization

/// Wakes the loop of a worker. Several rings before the loop wakes are one.
final class WorkerBell: Sendable {
  /// The rings, for one reader.
  let rings: AsyncStream<Void>
  private let continuation: AsyncStream<Void>.Continuation
  private let state = Mutex(Rings())

  /// The rings since the loop woke last.
  struct Rings {
    /// Whether a ring asked for a look at the store.
    var mustLook = true
    /// Whether a ring came from anything but the worker's own timer.
    var hasNews = true
  }

  init() {
    (rings, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
  }

  /// Wakes the loop.
  ///
  /// - Parameters:
  ///   - looking: Whether the store may have actions that the worker has not seen: after a signal, and when a date is
  ///     reached. Otherwise the loop goes on with the actions that it knows to wait.
  ///   - isNews: Whether other workers may have been woken too. `false` for a timer of this worker.
  func ring(looking: Bool = true, isNews: Bool = true) {
    state.withLock { rings in
      if looking { rings.mustLook = true }
      if isNews { rings.hasNews = true }
    }
    continuation.yield()
  }

  /// Returns the rings since the last call.
  func takeRings() -> Rings {
    state.withLock { rings in
      defer { rings = Rings(mustLook: false, hasNews: false) }
      return rings
    }
  }

  /// Ends the loop.
  func finish() { continuation.finish() }
}
