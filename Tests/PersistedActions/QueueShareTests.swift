import CoherencePersistedActions
import TestSupport
import Testing

/// The shares of several queues in the slots of a worker.
@Suite(.timeLimit(.minutes(15))) struct QueueShareTests {
  /// Enqueues numbered actions in each of two queues, and runs all of them.
  ///
  /// - Returns: The marks of the actions in their order, such as `a1`.
  private func marks(of count: Int, concurrency: Int, _ backend: Backend) async throws -> [String] {
    let stack = try ActionStack(backend)
    for queue in ["a", "b"] {
      for number in 1...count {
        try stack.enqueue(Mark(board: stack.boardName, text: "\(queue)\(number)"), queue: queue)
      }
    }
    let worker = try stack.worker(ManualClock()) {
      $0.concurrency = concurrency
      $0.queues = ["a", "b"]
    }
    #expect(try await worker.runDueActions() == 2 * count)
    return stack.board.marks
  }

  @Test(arguments: Backend.available)
  func `the queues of a worker with one slot take turns`(_ backend: Backend) async throws {
    #expect(try await marks(of: 3, concurrency: 1, backend) == ["a1", "b1", "a2", "b2", "a3", "b3"])
  }

  @Test(arguments: Backend.available)
  func `the queues of a worker have equal shares of its slots`(_ backend: Backend) async throws {
    let marks = try await marks(of: 4, concurrency: 4, backend)
    #expect(Set(marks.prefix(4)) == ["a1", "a2", "b1", "b2"])
    #expect(Set(marks.dropFirst(4)) == ["a3", "a4", "b3", "b4"])
  }

  @Test(arguments: Backend.available)
  func `of an odd number of slots the queue whose turn comes first has one more`(_ backend: Backend) async throws {
    let marks = try await marks(of: 3, concurrency: 3, backend)
    #expect(Set(marks.prefix(3)) == ["a1", "a2", "b1"])
    #expect(Set(marks.dropFirst(3)) == ["b2", "b3", "a3"])
  }
}
