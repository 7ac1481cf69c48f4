import CoherenceActions
import CoherenceCore
import CoherencePersistedActions
import CoherenceStrategies
import Foundation
import TestSupport
import Testing

/// Commits of an attempt during which another process changes the record of the action.
@Suite(.timeLimit(.minutes(15))) struct CommitRaceTests {
  /// Waits for its gate, and commits a note with its completion.
  private struct Write: PersistedAction {
    let board: String

    func run(in context: PersistedActionContext) async throws {
      let board = Board.named(board)
      board.mark("begin \(context.scheduleName ?? "alone")")
      try await board.pass("commit")
      try await context.commit { try $0.insertNote("note") }
    }
  }

  /// Changes the records of running actions in another process, at the beginning of each of the next saves.
  private func interfere(_ stack: ActionStack, times: Int, _ change: @escaping @Sendable (ManagedObject) throws -> Void)
    throws
  {
    let stranger = try stack.makeStranger()
    stack.container.persistentStoreCoordinator.observer = SaveInterference(
      times: times, reportingTo: { Issue.record($0) }
    ) {
      let context = stranger.newBackgroundContext()
      try context.performAndWait {
        for record in try context.fetch(FetchRequest<ManagedObject>(entityName: "CoherencePersistedAction")) {
          if try record.value(for: "state", as: String.self) == "running" { try change(record) }
        }
        try context.save()
      }
    }
  }

  private static func addUnit(to record: ManagedObject) throws {
    let units = try record.value(for: "completedUnits", as: Int64.self)
    try record.setValue(units + 1, for: "completedUnits")
  }

  @Test(arguments: Backend.available, [1, 3])
  func `a commit of a schedule's run that loses races saves its note and the record of the run once`(
    backend: Backend, races: Int
  ) async throws {
    let stack = try ActionStack(backend)
    let time = ManualClock()
    let schedule = PersistedSchedule("hourly", .every(.seconds(3600)), Write(board: stack.boardName))
    let worker = try PersistedActionWorker(
      stack.container, actions: [Write.self], schedules: [schedule], clock: time.workerClock)
    #expect(try await worker.runDueActions() == 0)
    time.advance(by: .seconds(3600))
    let attempt = Task { try await worker.runDueActions() }
    try await stack.board.until("begin hourly")
    try interfere(stack, times: races) { try Self.addUnit(to: $0) }
    stack.board.open("commit")
    #expect(try await attempt.value == 1)
    #expect(try stack.notes() == ["note"])
    #expect(try await stack.actions.counts() == [.scheduled: 1, .succeeded: 1])
    let run = try #require(try await stack.actions.runs(ofSchedule: "hourly").first)
    #expect(run.progress?.completedUnitCount == Int64(races))
  }

  @Test(arguments: Backend.available)
  func `a request to cancel during a commit refuses the commit`(_ backend: Backend) async throws {
    let stack = try ActionStack(backend)
    let worker = try PersistedActionWorker(
      stack.container, actions: [Write.self], clock: ManualClock().workerClock)
    let handle = try stack.enqueue(Write(board: stack.boardName))
    let attempt = Task { try await worker.runDueActions() }
    try await stack.board.until("begin alone")
    try interfere(stack, times: 1) { try $0.setValue(true, for: "isCancelRequested") }
    stack.board.open("commit")
    #expect(try await attempt.value == 1)
    #expect(try stack.notes() == [])
    #expect(try await stack.state(of: handle) == .canceled)
  }
}
