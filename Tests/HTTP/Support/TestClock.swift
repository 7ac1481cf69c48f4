import CoherenceHTTP
import Foundation
import Synchronization

/// A clock that nobody waits for: time passes at once, and is written down.
final class TestClock: HTTPClock {
  private let state: Mutex<(now: Date, waits: [Duration])>

  init(now: Date = Date(timeIntervalSince1970: 784_111_777)) { state = Mutex((now, [])) }

  var now: Date { state.withLock { $0.now } }
  /// How long was waited for, each time.
  var waits: [Duration] { state.withLock { $0.waits } }

  func wait(for duration: Duration) async throws {
    try Task.checkCancellation()
    state.withLock {
      $0.waits.append(duration)
      $0.now += duration / .seconds(1)
    }
  }
}

/// A clock on which nothing happens before a test says so.
final class GatedClock: HTTPClock {
  let now = Date()
  private let gate = Gate()

  func wait(for duration: Duration) async throws {
    await gate.wait()
    try Task.checkCancellation()
  }

  /// Lets all waits end.
  func ring() { gate.open() }
}

/// A clock whose waits end when a test says so.
final class SteppedClock: HTTPClock {
  let now = Date()
  private let state = Mutex<(gates: [Gate], count: Int)>(([], 0))

  /// How many waits have begun up to now.
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

  /// Ends the waits that have begun, and none that begins later.
  func tick() {
    let gates = state.withLock { state in
      defer { state.gates = [] }
      return state.gates
    }
    for gate in gates { gate.open() }
  }
}

/// Lets nobody through until it is opened, or the waiting task is cancelled.
final class Gate: Sendable {
  private let stream: AsyncStream<Void>
  private let continuation: AsyncStream<Void>.Continuation

  init() { (stream, continuation) = AsyncStream.makeStream() }

  func open() { continuation.finish() }
  func wait() async { for await _ in stream {} }
}
