import Dispatch
import Foundation
import Synchronization

/// All writers, each on a thread of its own.
final class LoadWriters: Sendable {
  private let group = DispatchGroup()
  private let results = Mutex<[Int: Result<LoadReport, any Error>]>([:])

  /// Starts them.
  init(on stage: LoadStage) {
    for number in 0..<Tally.writers {
      // Only serial queues are sure of a thread of their own.
      DispatchQueue(label: "load.writer.\(number)").async(group: group) { [self] in
        let result = Result { try LoadWriter(number: number, stage: stage).run() }
        results.withLock { $0[number] = result }
      }
    }
  }

  /// Whether all ended; does not wait.
  var areDone: Bool { group.wait(timeout: .now()) == .success }

  /// Blocks the calling thread until all ended. Answers whether they did within the time that a deadlock would exceed.
  func wait() -> Bool { group.wait(timeout: .now() + patience) == .success }

  /// Seconds for what takes a few at most, and does not end at all in a deadlock.
  private var patience: Double { 60 + Double(LoadStage.savesPerWriter) * 0.2 }

  /// What the writers did, by number; throws what one of them threw.
  func reports() throws -> [LoadReport] {
    try results.withLock { results in try (0..<Tally.writers).compactMap { try results[$0]?.get() } }
  }
}
