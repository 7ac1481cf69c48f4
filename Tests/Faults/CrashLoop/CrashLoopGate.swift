import Foundation

/// Synchronizes the writers of a crash loop with the thread that injects the faults.
final class CrashLoopGate: @unchecked Sendable {
  // Sendable: mutable state is used under `condition` only.

  private let condition = NSCondition()
  /// The number of acknowledged saves of each writer.
  private var acknowledged: [Int]
  /// The number of running writers.
  private var running: Int
  /// The number of writers that wait at the closed gate.
  private var parked = 0
  private var isClosed = false
  private var isServerAway = false
  private var isOver = false
  private var complaint: String?

  /// The time after which a wait counts as stuck. A correct run never waits that long.
  private static let timeLimit: TimeInterval = 60

  init(writers: Int) {
    acknowledged = Array(repeating: 0, count: writers)
    running = writers
  }

  // MARK: Writers

  /// Waits while the gate is closed. The writer must not call it during a save.
  ///
  /// - Returns: Whether the writer continues.
  func pass() -> Bool {
    condition.withLock {
      parked += 1
      condition.broadcast()
      while isClosed, !isOver { condition.wait() }
      parked -= 1
      return !isOver
    }
  }

  func noteAcknowledgement(of writer: Int) {
    condition.withLock {
      acknowledged[writer] += 1
      condition.broadcast()
    }
  }

  /// Waits during a planned outage of the server: the attempts of writers would delay its start.
  func awaitServer() {
    condition.withLock { while isServerAway, !isOver { condition.wait() } }
  }

  /// Ends the loop with a writer's complaint.
  func complain(_ sentence: String) {
    condition.withLock {
      complaint = complaint ?? sentence
      isOver = true
      condition.broadcast()
    }
  }

  func leave() {
    condition.withLock {
      running -= 1
      condition.broadcast()
    }
  }

  // MARK: The thread that injects the faults

  struct Stuck: Error, CustomStringConvertible {
    let description: String
  }

  /// The number of acknowledged saves of each writer.
  var acknowledgements: [Int] { condition.withLock { acknowledged } }

  /// The complaint of a writer that ended the loop.
  var complaintOfWriters: String? { condition.withLock { complaint } }

  /// Makes every wait check its condition again.
  func wakeUp() { condition.withLock { condition.broadcast() } }

  func setServerAway(_ isAway: Bool) {
    condition.withLock {
      isServerAway = isAway
      condition.broadcast()
    }
  }

  /// Waits until every writer has a number of further acknowledged saves, or until another event ends the wait.
  func awaitAcknowledgements(
    _ count: Int = 1, beyond former: [Int], or isEnough: () -> Bool = { false }
  ) throws {
    try wait(until: "acknowledge") {
      isEnough() || zip(acknowledged, former).allSatisfy { $0 >= $1 + count }
    }
  }

  /// Closes the gate, and waits until every writer waits at it.
  func close() throws {
    condition.withLock { isClosed = true }
    try wait(until: "come to an end of a save") { parked == running }
  }

  func open() {
    condition.withLock {
      isClosed = false
      condition.broadcast()
    }
  }

  /// Ends the writers, and waits for their end.
  func end() throws {
    condition.withLock {
      isOver = true
      condition.broadcast()
    }
    try wait(until: "end", isEnding: true) { running == 0 }
  }

  private func wait(until verb: String, isEnding: Bool = false, _ isDone: () -> Bool) throws {
    let deadline = Date(timeIntervalSinceNow: Self.timeLimit)
    try condition.withLock {
      while !isDone() {
        if isOver, !isEnding { throw Stuck(description: complaint ?? "The loop is over.") }
        guard condition.wait(until: deadline) || isDone() else {
          throw Stuck(description: "Within \(Int(Self.timeLimit)) s not all writers \(verb): \(acknowledged).")
        }
      }
    }
  }
}
