import CoherenceActions
import CoherenceCore
import CoherenceRefresh
import Testing

@Suite("Calls of a refresher by actions that its attempt waits for", .timeLimit(.minutes(15)))
struct RefreshDeadlockTests {
  private let source = Source()

  /// An action on songs that waits for an attempt behind it in its queue.
  private struct WaitForSongs: AsyncEntityAction {
    typealias ManagedObjectType = Song
    let refresher: Refresher

    func execute(context: ActionContext) async throws {
      let events = refresher.events
      // No part of the action, like the attempt of a timer.
      Task.detached { [refresher] in _ = try? await refresher.refresh(Song.self) }
      for await _ in events { break }
      try await refresher.refresh(Song.self)
    }
  }

  @Test func `a refresh that waits for its own scope fails with a deadlock`() async throws {
    let program = try Place().program()
    try program.refresher.register(list: Song.self) { [weak refresher = program.refresher] _ in
      _ = try await refresher?.refresh(Song.self)
    }
    await #expect {
      try await program.refresher.refresh(Song.self)
    } throws: {
      ErrorCode.deadlock ~= $0
    }
    #expect(try await program.refresher.status(of: Song.self)?.lastSyncStatus == .failed)
    try await program.end()
  }

  @Test func `two refreshes that wait for each other fail with a deadlock`() async throws {
    let program = try Place().program()
    try program.refresher.register(list: ManagedObject.self, entityName: "Genre") {
      [weak refresher = program.refresher] _ in
      _ = try await refresher?.refresh(Song.self)
    }
    try program.refresher.register(list: Song.self) { [weak refresher = program.refresher] _ in
      _ = try await refresher?.refresh(ManagedObject.self, entityName: "Genre")
    }
    await #expect {
      try await program.refresher.refresh(ManagedObject.self, entityName: "Genre")
    } throws: {
      ErrorCode.deadlock ~= $0
    }
    try await program.end()
  }

  @Test func `an action that waits for the attempt behind it in its queue fails with a deadlock`() async throws {
    let program = try Place().program()
    try program.refresher.register(list: Song.self) { [source] in try await source.load($0) }
    let action = try program.connect.execute(WaitForSongs(refresher: program.refresher))
    await #expect { try await action.value } throws: { ErrorCode.deadlock ~= $0 }
    await source.untilLoaded(1)
    try await program.end()
  }
}
