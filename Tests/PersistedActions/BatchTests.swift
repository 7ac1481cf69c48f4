import CoherenceActions
import CoherenceCore
import CoherencePersistedActions
import CoherenceStrategies
import Foundation
import TestSupport
import Testing

/// More actions than one transaction promotes, and than one transaction of the pruning deletes.
@Suite(.timeLimit(.minutes(15))) struct BatchTests {
  @Test(arguments: Backend.available, [1_000, 1_001])
  func `scheduled actions with a priority all run, and are all pruned, on both sides of a batch of 1,000`(
    _ backend: Backend, count: Int
  ) async throws {
    let stack = try ActionStack(backend)
    let time = ManualClock()
    let due = time.date.addingTimeInterval(60)
    let texts = (0..<count).map { "\($0)" }
    try stack.saving { context in
      for text in texts { try context.enqueue(Mark(board: stack.boardName, text: text), at: due, priority: .high) }
    }
    let worker = try stack.worker(time) { $0.maximumClaimedAhead = 128 }
    #expect(try await worker.runDueActions() == 0)
    #expect(try await stack.actions.counts() == [.scheduled: count])
    time.advance(by: .seconds(60))
    #expect(try await worker.runDueActions() == count)
    #expect(stack.board.marks.sorted() == texts.sorted())
    #expect(try await stack.actions.counts() == [.succeeded: count])
    let retention = PersistedActionRetention(succeeded: .seconds(30))
    #expect(try await stack.actions.prune(retention, at: due.addingTimeInterval(60)) == count)
    #expect(try await stack.actions.counts().values.allSatisfy { $0 == 0 })
  }
}
