import CoherenceActions
import Foundation
import Synchronization
import Testing

@testable import CoherencePersistedActions

/// The tasks that count as parts of an attempt: a stop that they call does not wait for the attempt.
@Suite(.timeLimit(.minutes(15))) struct AttemptScopeTests {
  @Test func `a task that an action makes is a part of its attempt until the attempt ends`() async throws {
    let (work, other) = (AwaitedWork(), AwaitedWork())
    let board = Board.named(UUID().uuidString)
    #expect(!work.isCurrent)
    let task = Mutex<Task<Bool, any Error>?>(nil)
    try await work.run {
      let (isPart, isOther) = (work.isCurrent, other.isCurrent)
      #expect(isPart && !isOther)
      let later = Task {
        board.mark(work.isCurrent ? "part" : "none")
        board.mark("begun")
        try await board.pass("ended")
        return work.isCurrent
      }
      task.withLock { $0 = later }
      try await board.until("begun")
    }
    #expect(board.marks.first == "part")
    #expect(!work.isCurrent)
    board.open("ended")
    let later = try #require(task.withLock { $0 })
    #expect(try await !later.value)
  }
}
