import Foundation
import Testing

@testable import CoherenceRefresh

@Suite struct ReadStatusPruningTests {
  private let now = Date(timeIntervalSinceReferenceDate: 0)

  /// Counts new statuses.
  ///
  /// - Returns: The number of times that old statuses have to be deleted.
  private func deletions(after count: Int, by pruning: ReadStatusPruning, at now: Date) -> Int {
    (0..<count).count(where: { _ in pruning.noteNewStatus(of: "Song", at: now) })
  }

  @Test func `old statuses are deleted once for each hundred new ones, and at most once an hour`() {
    let pruning = ReadStatusPruning()
    #expect(deletions(after: 100, by: pruning, at: now) == 1)
    #expect(deletions(after: 300, by: pruning, at: now) == 3)
    pruning.noteEnd(of: "Song", at: now)
    #expect(deletions(after: 300, by: pruning, at: now + 3599) == 0)
    #expect(deletions(after: 1, by: pruning, at: now + 3600) == 1)
  }

  @Test func `programs that read one new key in each run delete old statuses too`() {
    let count = (0..<10_000).count(where: { _ in deletions(after: 1, by: ReadStatusPruning(), at: now) == 1 })
    #expect(count > 0 && count < 1_000)
  }

  @Test func `the pause after a deletion ends when the clock is set back, and concerns one entity alone`() {
    let pruning = ReadStatusPruning()
    pruning.noteEnd(of: "Song", at: now + 100)
    #expect(deletions(after: 100, by: pruning, at: now + 100) == 0)
    #expect(deletions(after: 1, by: pruning, at: now + 99) == 1)
    let others = (0..<100).count(where: { _ in pruning.noteNewStatus(of: "Genre", at: now + 100) })
    #expect(others == 1)
  }
}
