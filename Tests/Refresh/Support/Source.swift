import CoherenceActions
import CoherenceCore
import CoherenceRefresh
import Synchronization

/// A service of songs. Each load returns one song, whose title is the number of the load.
final class Source: Sendable {
  private struct State {
    var requests: [(reason: RefreshReason, cursor: String?)] = []
    var held: [Int: AsyncStream<Void>] = [:]
    var gates: [Int: AsyncStream<Void>.Continuation] = [:]
    var failing: Set<Int> = []
    var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
  }

  private let state = Mutex(State())

  /// The reasons of the loads so far.
  var reasons: [RefreshReason] { state.withLock { $0.requests.map(\.reason) } }
  /// The cursors of the loads so far.
  var cursors: [String?] { state.withLock { $0.requests.map(\.cursor) } }

  /// Makes some loads fail.
  func fail(_ numbers: Int...) { state.withLock { $0.failing.formUnion(numbers) } }

  /// Makes a load wait for ``open(_:)``. The first load is number 1.
  func hold(_ number: Int) {
    let (stream, continuation) = AsyncStream<Void>.makeStream()
    state.withLock {
      $0.held[number] = stream
      $0.gates[number] = continuation
    }
  }

  func open(_ number: Int) { state.withLock { $0.gates[number] }?.finish() }

  /// Waits until a number of loads have begun.
  func untilLoaded(_ count: Int) async {
    await withCheckedContinuation { continuation in
      let isThere = state.withLock { state in
        if state.requests.count >= count { return true }
        state.watchers.append((count, continuation))
        return false
      }
      if isThere { continuation.resume() }
    }
  }

  /// Records a load, and returns its number.
  func enter(_ request: RefreshRequest) async throws -> Int {
    let (number, stream, watchers) = state.withLock { state in
      state.requests.append((request.reason, request.cursor))
      let count = state.requests.count
      let ready = state.watchers.filter { $0.count <= count }.map(\.continuation)
      state.watchers.removeAll { $0.count <= count }
      return (count, state.held[count], ready)
    }
    for watcher in watchers { watcher.resume() }
    if let stream { for await _ in stream {} }
    try Task.checkCancellation()
    if state.withLock({ $0.failing.contains(number) }) {
      throw CoherenceError(.inputOutput, "The service is down.", isRetryable: true)
    }
    return number
  }

  /// Loads and merges one song.
  func load(_ request: RefreshRequest) async throws {
    let number = try await enter(request)
    let record = MergeRecord(["id": 1, "title": "\(number)"])
    try await request.context.perform {
      _ = try request.context.merge(records: [record], for: request.entity)
    }
  }
}
