import CoherenceHTTP
import Foundation
import Synchronization

/// A clock without waits: time passes at once, and each wait is recorded.
final class TestClock: HTTPClock {
  private let state: Mutex<(now: Date, waits: [Duration])>

  init(now: Date = Date(timeIntervalSince1970: 784_111_777)) { state = Mutex((now, [])) }

  var now: Date { state.withLock { $0.now } }
  /// The durations of all waits.
  var waits: [Duration] { state.withLock { $0.waits } }

  func wait(for duration: Duration) async throws {
    try Task.checkCancellation()
    state.withLock {
      $0.waits.append(duration)
      $0.now += duration / .seconds(1)
    }
  }
}

/// A clock whose waits all end when a test opens it.
final class GatedClock: HTTPClock {
  let now = Date()
  private let gate = Gate()

  func wait(for duration: Duration) async throws {
    await gate.wait()
    try Task.checkCancellation()
  }

  /// Ends all waits.
  func ring() { gate.open() }
}

/// A clock whose present waits end when a test steps it.
final class SteppedClock: HTTPClock {
  let now = Date()
  private let state = Mutex<(gates: [Gate], count: Int)>(([], 0))

  /// The number of waits so far.
  var waitCount: Int { state.withLock { $0.count } }

  func wait(for duration: Duration) async throws {
    let gate = Gate()
    state.withLock {
      $0.gates.append(gate)
      $0.count += 1
    }
    await gate.wait()
    try Task.checkCancellation()
  }

  /// Ends the present waits, and no later one.
  func tick() {
    let gates = state.withLock { state in
      defer { state.gates = [] }
      return state.gates
    }
    for gate in gates { gate.open() }
  }
}

/// Blocks tasks until the gate is opened or the waiting task is cancelled.
final class Gate: Sendable {
  private let stream: AsyncStream<Void>
  private let continuation: AsyncStream<Void>.Continuation

  init() { (stream, continuation) = AsyncStream.makeStream() }

  func open() { continuation.finish() }
  func wait() async { for await _ in stream {} }
}
