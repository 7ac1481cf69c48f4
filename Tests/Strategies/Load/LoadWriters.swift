import Dispatch
import Foundation
import Synchronization

/// All writers, each on its own thread.
final class LoadWriters: Sendable {
  private let group = DispatchGroup()
  private let results = Mutex<[Int: Result<LoadReport, any Error>]>([:])

  /// Starts the writers.
  init(on stage: LoadStage) {
    for number in 0..<Tally.writers {
      // A serial queue guarantees each writer its own thread.
      DispatchQueue(label: "load.writer.\(number)").async(group: group) { [self] in
        let result = Result { try LoadWriter(number: number, stage: stage).run() }
        results.withLock { $0[number] = result }
      }
    }
  }

  /// Whether all writers have ended. Does not wait.
  var areDone: Bool { group.wait(timeout: .now()) == .success }

  /// Blocks the calling thread until all writers have ended. Returns whether they ended within a time that only a
  /// deadlock exceeds.
  func wait() -> Bool { group.wait(timeout: .now() + timeLimit) == .success }

  /// A time in seconds that only a deadlock exceeds.
  private var timeLimit: Double { 60 + Double(LoadStage.savesPerWriter) * 0.2 }

  /// The counts of the writers by number. Throws the error of a writer.
  func reports() throws -> [LoadReport] {
    try results.withLock { results in try (0..<Tally.writers).compactMap { try results[$0]?.get() } }
  }
}
