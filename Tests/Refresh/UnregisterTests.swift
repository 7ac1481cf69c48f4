import CoherenceActions
import CoherenceCore
import CoherenceRefresh
import CoherenceStrategies
import Synchronization
import TestSupport
import Testing

@Suite("Lists whose registration is taken back", .timeLimit(.minutes(15)))
struct UnregisterTests {
  private let source = Source()

  /// Registers a list whose attempts load songs from the source.
  private func register(_ program: Program, scope: String? = nil) throws {
    try program.refresher.register(list: Song.self, scope: scope, schedule: .every(.seconds(60))) { [source] in
      try await source.load($0)
    }
  }

  @Test(arguments: Backend.available)
  func `an unregistered list is not refreshed any more, and has no status`(backend: Backend) async throws {
    let place = try Place(backend)
    let program = try place.program()
    try register(program)
    await program.refresher.start()
    #expect(try await program.status().lastSyncStatus == .succeeded)
    try await program.refresher.unregister(list: Song.self)
    #expect(try await program.refresher.statuses().isEmpty)
    place.clock.advance(by: 3_600)
    #expect(try await program.titles() == ["1"])
    for _ in 0..<20 { await Task.yield() }
    await #expect { try await program.refresher.refresh(Song.self) } throws: { ErrorCode.invalidRefresh ~= $0 }
    #expect(try await program.refresher.statuses().isEmpty)
    #expect(source.reasons == [.start])
    try register(program)
    #expect(try await program.status().lastSyncStatus == .succeeded)
    #expect(source.reasons.count == 2)
    try await program.end()
  }

  @Test(arguments: Backend.available)
  func `an unregistered list leaves the lists of other scopes registered`(backend: Backend) async throws {
    let program = try Place(backend).program()
    for scope in ["a", "b"] {
      try register(program, scope: scope)
      try await program.refresher.refresh(Song.self, scope: scope)
    }
    try await program.refresher.unregister(list: Song.self, scope: "a")
    #expect(try await program.refresher.statuses().map(\.scope) == ["b"])
    for scope in ["a", nil] {
      await #expect {
        try await program.refresher.unregister(list: Song.self, scope: scope)
      } throws: {
        ErrorCode.invalidRefresh ~= $0
      }
    }
    try await program.refresher.refresh(Song.self, scope: "b")
    #expect(source.reasons.count == 3)
    try await program.end()
  }

  @Test(arguments: Backend.available)
  func `unregistering a list cancels its attempt, waits for the end, and deletes the status after it`(
    backend: Backend
  ) async throws {
    let program = try Place(backend).program()
    let body = StubbornBody()
    try await body.begin(in: program)
    let unregistering = Task { try await program.refresher.unregister(list: Song.self) }
    for await _ in body.canceled.stream { break }
    for _ in 0..<20 {
      #expect(try await program.refresher.status(of: Song.self)?.leaseEnd != nil)
    }
    body.gate.continuation.finish()
    try await unregistering.value
    #expect(try await program.refresher.status(of: Song.self) == nil)
    try await program.end()
  }

  @Test(arguments: Backend.available)
  func `a stop waits for the last attempt of an unregistered list`(backend: Backend) async throws {
    let program = try Place(backend).program()
    let body = StubbornBody()
    try await body.begin(in: program)
    let unregistering = Task { try await program.refresher.unregister(list: Song.self) }
    for await _ in body.canceled.stream { break }
    let isStopped = Atomic<Bool>(false)
    let stopping = Task {
      await program.refresher.stop()
      isStopped.store(true, ordering: .releasing)
    }
    for _ in 0..<20 {
      #expect(try await program.refresher.status(of: Song.self)?.leaseEnd != nil)
      let hasEnded = isStopped.load(ordering: .acquiring)
      #expect(!hasEnded)
    }
    body.gate.continuation.finish()
    await stopping.value
    try await unregistering.value
    #expect(try await program.refresher.statuses().isEmpty)
    try await program.end()
  }

  @Test(arguments: Backend.available)
  func `a list unregistered by its own attempt has no status after the attempt`(backend: Backend) async throws {
    let program = try Place(backend).program()
    let coordinator = program.connect.persistentStoreCoordinator
    let changes = try coordinator.entityChanges(of: RefreshStatus.entityName)
    try program.refresher.register(list: Song.self) { [weak refresher = program.refresher] _ in
      try await refresher?.unregister(list: Song.self)
    }
    await program.refresher.start()
    // The first change is the insertion of the status.
    for await _ in changes {
      if try await program.refresher.status(of: Song.self) == nil { break }
    }
    await #expect { try await program.refresher.refresh(Song.self) } throws: { ErrorCode.invalidRefresh ~= $0 }
    try await program.end()
  }

  @Test(arguments: Backend.available)
  func `the status of a list that another process is refreshing stays`(backend: Backend) async throws {
    let place = try Place(backend)
    let (one, other) = (try place.program(), try place.program())
    for program in [one, other] { try register(program) }
    source.hold(1)
    await one.refresher.start()
    await source.untilLoaded(1)
    try await other.refresher.unregister(list: Song.self)
    #expect(try await other.refresher.status(of: Song.self)?.leaseEnd != nil)
    source.open(1)
    #expect(try await one.status().lastSyncStatus == .succeeded)
    #expect(source.reasons == [.start])
    try await one.end()
    try await other.end()
  }
}
