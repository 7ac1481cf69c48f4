import CoherenceActions
import CoherenceCore
import CoherenceRefresh
import TestSupport
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

  /// An action that ends the attempts of songs.
  private struct EndSongs: AsyncGenericAction {
    let refresher: Refresher
    let stops: Bool

    func execute() async throws {
      if stops { await refresher.stop() } else { try await refresher.unregister(list: Song.self) }
    }
  }

  @Test(arguments: Backend.available, [true, false])
  func `an action that an attempt waits for can end the attempt by a stop or by unregistering its list`(
    backend: Backend, stops: Bool
  ) async throws {
    let program = try Place(backend).program()
    let connect = program.connect
    try program.refresher.register(list: Song.self) { [weak refresher = program.refresher] _ in
      guard let refresher else { return }
      let action = try connect.execute(EndSongs(refresher: refresher, stops: stops))
      // The attempt ignores its cancellation. It may begin the wait after the action, and then does not wait.
      _ = await Task { try await action.value }.result
    }
    await #expect(throws: (any Error).self) { try await program.refresher.refresh(Song.self) }
    if !stops {
      await #expect { try await program.refresher.refresh(Song.self) } throws: { ErrorCode.invalidRefresh ~= $0 }
    }
    try await program.end()
  }

  @Test(arguments: [false, true])
  func `a handler whose end an attempt waits for can stop the attempt, and fails with a deadlock by a refresh`(
    stops: Bool
  ) async throws {
    let program = try Place().program()
    let handlers = AwaitedWork()
    try program.refresher.register(list: Song.self) { [weak refresher = program.refresher] _ in
      guard let refresher else { return }
      // No part of the attempt's action, like the handler of an outbox.
      let call = Task.detached {
        try await handlers.run {
          if stops { return await refresher.stop() }
          try await refresher.refresh(Song.self)
        }
      }
      // As a flush does. The call may begin its wait first, and then this wait fails.
      try await handlers.wait { try await call.value }
    }
    let result = await Task { [refresher = program.refresher] in try await refresher.refresh(Song.self) }.result
    if !stops { #expect { try result.get() } throws: { ErrorCode.deadlock ~= $0 } }
    try await program.end()
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
