import Synchronization

/// Wakes the loop of a worker. Several rings before the loop wakes are one.
final class WorkerBell: Sendable {
  /// The rings, for one reader.
  let rings: AsyncStream<Void>
  private let continuation: AsyncStream<Void>.Continuation
  private let mustLook = Mutex(true)

  init() {
    (rings, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
  }

  /// Wakes the loop.
  ///
  /// - Parameter looking: Whether the store may have actions that the worker has not seen: after a signal, and when a date
  ///   is reached. Otherwise the loop goes on with the actions that it knows to wait.
  func ring(looking: Bool = true) {
    if looking { mustLook.withLock { $0 = true } }
    continuation.yield()
  }

  /// Returns whether a ring asked for a look since the last call.
  func takeLook() -> Bool {
    mustLook.withLock { mustLook in
      defer { mustLook = false }
      return mustLook
    }
  }

  /// Ends the loop.
  func finish() { continuation.finish() }
}
