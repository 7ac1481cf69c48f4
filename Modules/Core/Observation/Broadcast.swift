import Synchronization

/// Sends elements to any number of streams, each for one reader.
package final class Broadcast<Element: Sendable>: Sendable {
  private struct State {
    var isFinished = false
    var nextNumber = 0
    var streams: [Int: AsyncStream<Element>.Continuation] = [:]
  }
  private let state = Mutex(State())

  package init() {}

  /// Returns a stream of the elements sent from now on. After ``finish()`` the stream ends at once.
  ///
  /// - Parameters:
  ///   - policy: The elements that the stream keeps for a slow reader.
  ///   - first: An element for this stream alone, before all others.
  package func makeStream(
    _ policy: AsyncStream<Element>.Continuation.BufferingPolicy = .unbounded, first: Element? = nil
  ) -> AsyncStream<Element> {
    AsyncStream(bufferingPolicy: policy) { continuation in
      if let first { continuation.yield(first) }
      let number = state.withLock { state in
        guard !state.isFinished else { return nil as Int? }
        defer { state.nextNumber += 1 }
        state.streams[state.nextNumber] = continuation
        return state.nextNumber
      }
      guard let number else { return continuation.finish() }
      continuation.onTermination = { [weak self] _ in
        _ = self?.state.withLock { $0.streams.removeValue(forKey: number) }
      }
    }
  }

  /// Whether any stream is in use.
  package var isInUse: Bool { state.withLock { !$0.streams.isEmpty } }

  /// Sends an element to all streams. The element is not made if no stream is in use.
  package func send(_ make: () -> Element) {
    let streams = state.withLock { Array($0.streams.values) }
    guard !streams.isEmpty else { return }
    let element = make()
    for stream in streams { stream.yield(element) }
  }

  /// Ends all streams, after the elements sent so far, and all later streams.
  package func finish() {
    let streams = state.withLock { state in
      state.isFinished = true
      defer { state.streams = [:] }
      return state.streams
    }
    for stream in streams.values { stream.finish() }
  }
}
