import CoherenceActions
import CoherenceCore
import CoherenceRefresh
import CoherenceStrategies
import Foundation
import Synchronization
import Testing
import TestRandom
import TestSupport

@Suite("Refreshes on every store", .timeLimit(.minutes(15)))
struct RefreshOnStoresTests {
  /// A program whose list has been loaded once, and is stale after ten minutes.
  private func loadedProgram(in place: Place, _ source: Source) async throws -> Program {
    let program = try place.program()
    try program.refresher.register(list: Song.self, stalenessInterval: .seconds(600)) { try await source.load($0) }
    await program.refresher.start()
    await source.untilLoaded(1)
    #expect(try await program.status().lastSyncStatus == .succeeded)
    #expect(try await program.titles() == ["1"])
    return program
  }

  @Test(arguments: Backend.available)
  func `a fetch of stale records returns at once, one refresh follows, and the view shows its records`(
    backend: Backend
  ) async throws {
    let (place, source) = (try Place(backend), Source())
    let program = try await loadedProgram(in: place, source)

    source.hold(2)
    place.clock.advance(by: 601)
    #expect(try await program.titles() == ["1"])
    #expect(try await program.titles() == ["1"])
    await source.untilLoaded(2)
    #expect(try await program.titles() == ["1"])
    var changes = try program.connect.persistentStoreCoordinator.entityChanges(of: "Song").makeAsyncIterator()
    source.open(2)
    _ = await changes.next()
    #expect(try await program.titles() == ["2"])
    #expect(try await program.status().lastSyncTime == place.clock.now)
    #expect(source.reasons == [.start, .staleFetch])
    try await program.end()
  }

  @Test(arguments: Backend.available)
  func `the first fetch from another store begins a refresh, however fresh the records of the former store were`(
    backend: Backend
  ) async throws {
    let (place, source) = (try Place(backend), Source())
    let program = try await loadedProgram(in: place, source)

    let stores = program.connect.persistentStoreCoordinator.persistentStores
    try await program.connect.detach(persistentStores: stores)
    try program.connect.attachPersistentStore(for: backend.newConfiguration())
    source.hold(2)
    #expect(try await program.titles() == [])
    await source.untilLoaded(2)
    source.open(2)
    #expect(try await program.status().lastSyncStatus == .succeeded)
    #expect(try await program.titles() == ["2"])
    #expect(source.reasons == [.start, .staleFetch])
    try await program.end()
  }

  @Test(arguments: Backend.availableSQL)
  func `a detachment of the store during a refresh releases the lease of the scope`(backend: Backend) async throws {
    let (place, source) = (try Place(backend), Source())
    let program = try place.program()
    try program.refresher.register(list: Song.self) { try await source.load($0) }
    var events = program.refresher.events.makeAsyncIterator()
    source.hold(1)
    await program.refresher.start()
    await source.untilLoaded(1)
    try await program.connect.detach(persistentStores: program.connect.persistentStoreCoordinator.persistentStores)
    while let event = await events.next() {
      if case .failed = event { break }
    }

    try program.connect.attachPersistentStore(for: place.configuration)
    let status = try #require(try await program.refresher.status(of: Song.self))
    #expect(status.leaseEnd == nil && status.failureCount == 0)
    #expect(try await program.refresher.refresh(Song.self).lastSyncStatus == .succeeded)
    try await program.end()
  }

  @Test(arguments: Backend.availableSQL)
  func `the lease of an own attempt whose end was not saved prevents no further attempt`(
    backend: Backend
  ) async throws {
    let (place, source) = (try Place(backend), Source())
    let program = try place.program()
    let coordinator = program.connect.persistentStoreCoordinator
    try program.refresher.register(list: Song.self) { request in
      // The store is gone at the end of the first attempt.
      guard try await source.enter(request) == 1 else { return }
      for store in coordinator.persistentStores { try coordinator.remove(store) }
    }
    await #expect { try await program.refresher.refresh(Song.self) } throws: { ErrorCode.noStore ~= $0 }

    try program.connect.attachPersistentStore(for: place.configuration)
    let status = try #require(try await program.refresher.status(of: Song.self))
    #expect(status.leaseEnd != nil && status.lastSyncStatus == .never)
    #expect(try await program.refresher.refresh(Song.self).lastSyncStatus == .succeeded)
    try await program.end()
  }

  @Test(arguments: Backend.available, [false, true])
  func `a lease that was saved although the reply was lost prevents no further attempt`(
    backend: Backend, isRetryable: Bool
  ) async throws {
    let source = Source()
    let losesReplies = Atomic<Bool>(false)
    var place = try Place(backend)
    place.configuration.type = try FailingStore.type(over: place.configuration.type, isRetryable: isRetryable) { _ in
      losesReplies.load(ordering: .acquiring) ? .lossAfterSave : nil
    }
    let program = try place.program()
    try program.refresher.register(list: Song.self) { try await source.load($0) }

    losesReplies.store(true, ordering: .releasing)
    await #expect { try await program.refresher.refresh(Song.self) } throws: { ErrorCode.connectionLost ~= $0 }
    losesReplies.store(false, ordering: .releasing)
    #expect(try await program.refresher.status(of: Song.self)?.leaseEnd != nil)
    #expect(try await program.refresher.refresh(Song.self).lastSyncStatus == .succeeded)
    try await program.end()
  }

  @Test(arguments: Backend.available)
  func `a refresh of the records of one store succeeds although another store cannot be read`(
    backend: Backend
  ) async throws {
    let program = try Place(backend).program()
    let other = try program.connect.attachPersistentStore(for: backend.newConfiguration())
    other.close()
    try program.refresher.register(list: Song.self) { _ in }
    #expect(try await program.refresher.refresh(Song.self).lastSyncStatus == .succeeded)
    #expect(try await program.refresher.status(of: Song.self)?.lastSyncStatus == .succeeded)
    try await program.end()
  }

  @Test(arguments: Backend.available)
  func `a page with records of two stores comes again after a failure of the second store`(
    backend: Backend
  ) async throws {
    let source = Source()
    let isRefusing = Atomic<Bool>(false)
    let program = try Place(backend).program()
    var configuration = backend.configuration(named: UUID().uuidString.filter(\.isHexDigit))
    configuration.type = try FailingStore.type(over: configuration.type) { _ in
      isRefusing.load(ordering: .acquiring) ? .refusal : nil
    }
    let second = try program.connect.attachPersistentStore(for: configuration)
    let context = program.connect.newBackgroundContext()
    try context.performAndWait {
      let song = try context.insertNewObject(forEntityName: "Song")
      try song.setValue(2, for: "id")
      try context.assign(song, to: second)
      try context.save()
    }
    try program.refresher.register(changesOf: Song.self) { request in
      _ = try await source.enter(request)
      return DeltaPage(records: [1, 2].map { MergeRecord(["id": $0, "title": "new"]) }, cursor: "a")
    }

    isRefusing.store(true, ordering: .releasing)
    await #expect { try await program.refresher.refresh(Song.self) } throws: { ErrorCode.partialSave ~= $0 }
    #expect(try await program.refresher.status(of: Song.self)?.cursor == nil)
    isRefusing.store(false, ordering: .releasing)
    #expect(try await program.refresher.refresh(Song.self).cursor == "a")
    #expect(try await program.titles() == ["new", "new"])
    #expect(source.cursors == [nil, nil])
    try await program.end()
  }

  @Test(arguments: Backend.available)
  func `a refresh beside a read-only store saves its status and its records in the other store`(
    backend: Backend
  ) async throws {
    let (place, source) = (try Place(backend), Source())
    var archivePlace = try Place(backend)
    archivePlace.model = place.model
    let (program, archive) = (try place.program(), try archivePlace.program())
    let coordinator = program.connect.persistentStoreCoordinator
    try await program.connect.detach(persistentStores: coordinator.persistentStores)
    var readOnly = archivePlace.configuration
    readOnly.location = archive.connect.persistentStoreCoordinator.persistentStores.first?.url
    readOnly.options[StoreOption.readOnly] = true
    try program.connect.attachPersistentStore(for: readOnly)
    try program.connect.attachPersistentStore(for: backend.newConfiguration())

    try program.refresher.register(list: Song.self) { try await source.load($0) }
    #expect(try await program.refresher.refresh(Song.self).lastSyncStatus == .succeeded)
    #expect(try await program.titles() == ["1"])
    #expect(try await archive.titles() == [])
    try await program.end()
    try await archive.end()
  }

  @Test(arguments: Backend.available)
  func `a stop cancels the running read of a record and releases its lease`(backend: Backend) async throws {
    let (place, source) = (try Place(backend), Source())
    let program = try place.program()
    try program.refresher.register(read: Song.self) { try await source.load($0) }
    await program.refresher.start()
    source.hold(1)
    let read = Task { try await program.refresher.read(Song.self, key: "1") }
    await source.untilLoaded(1)
    await program.refresher.stop()
    await #expect(throws: (any Error).self) { try await read.value }
    let status = try #require(try await program.refresher.status(of: Song.self, .read, scope: "1"))
    #expect(status.leaseEnd == nil && status.lastSyncStatus == .never)
    #expect(try await program.refresher.read(Song.self, key: "1").lastSyncStatus == .succeeded)
    try await program.end()
  }

  @Test(arguments: Backend.available)
  func `a stop waits for an attempt that ignores its cancellation, and the attempt has its lease until its end`(
    backend: Backend
  ) async throws {
    let place = try Place(backend)
    let program = try place.program()
    let body = StubbornBody()
    try await body.begin(in: program)
    let stopping = Task { await program.refresher.stop() }
    for await _ in body.canceled.stream { break }
    try await body.end(during: stopping, of: program)
    try await program.end()
  }

  @Test(arguments: Backend.available)
  func `of two processes with one store, one refreshes a scope, and the other waits for its result`(
    backend: Backend
  ) async throws {
    let (place, source) = (try Place(backend), Source())
    let (one, other) = (try place.program(), try place.program())
    for program in [one, other] { try program.refresher.register(list: Song.self) { try await source.load($0) } }
    source.hold(1)
    await one.refresher.start()
    await source.untilLoaded(1)
    await other.refresher.start()
    // The other process waits for the end of the lease.
    await place.clock.untilWaiting()
    await #expect { try await other.refresher.refresh(Song.self) } throws: { ErrorCode.refreshInProgress ~= $0 }
    source.open(1)
    #expect(try await one.status().lastSyncStatus == .succeeded)
    #expect(try await other.status().lastSyncTime == one.status().lastSyncTime)
    place.clock.advance(by: 331)
    #expect(try await other.status().lastSyncStatus == .succeeded)
    #expect(source.reasons == [.start])
    try await other.end()
    try await one.end()
  }

  @Test(arguments: Backend.available)
  func `an attempt of a dead process is taken over at the end of its lease, and its late end changes no status`(
    backend: Backend
  ) async throws {
    let (place, source) = (try Place(backend), Source())
    let (one, other) = (try place.program(), try place.program())
    for program in [one, other] { try program.refresher.register(list: Song.self) { try await source.load($0) } }
    source.hold(1)
    let late = Task { try await one.refresher.refresh(Song.self) }
    await source.untilLoaded(1)
    await other.refresher.start()
    await place.clock.untilWaiting()
    place.clock.advance(by: 331)
    await source.untilLoaded(2)
    let status = try await other.status()
    #expect(status.lastSyncTime == place.clock.now)
    source.open(1)
    await #expect { try await late.value } throws: { ErrorCode.cancelled ~= $0 }
    #expect(try await other.refresher.status(of: Song.self) == status)
    try await other.end()
    try await one.end()
  }

  @Test(arguments: Backend.available)
  func `the lease of an attempt begins after its wait in the queue`(backend: Backend) async throws {
    let (place, source) = (try Place(backend), Source())
    let (one, other) = (try place.program(), try place.program())
    for program in [one, other] { try program.refresher.register(list: Song.self) { try await source.load($0) } }
    let gate = AsyncStream<Void>.makeStream()
    let begun = AsyncStream<Void>.makeStream()
    let busy = try one.connect.execute(BusyAction(gate: gate.stream, begun: begun.continuation))
    for await _ in begun.stream {}
    source.hold(1)
    let attempt = Task { try await one.refresher.refresh(Song.self) }
    while try await other.refresher.status(of: Song.self)?.leaseEnd == nil { await Task.yield() }
    // The busy action runs for most of the first lease.
    place.clock.advance(by: 300)
    gate.continuation.finish()
    await source.untilLoaded(1)
    place.clock.advance(by: 100)
    await #expect { try await other.refresher.refresh(Song.self) } throws: { ErrorCode.refreshInProgress ~= $0 }
    source.open(1)
    #expect(try await attempt.value.lastSyncStatus == .succeeded)
    try await busy.value
    #expect(source.reasons == [.request])
    try await other.end()
    try await one.end()
  }

  @Test(arguments: Backend.availableSQL)
  func `a restarted program finds the statuses, and does not refresh fresh data`(
    backend: Backend
  ) async throws {
    let (place, source) = (try Place(backend), Source())
    var statuses: [RefreshStatus] = []
    for _ in 0..<2 {
      let program = try place.program()
      try program.refresher.register(list: Song.self, scope: "hits") { try await source.load($0) }
      await program.refresher.start()
      statuses.append(try await program.refresher.refresh(Song.self, scope: "hits", onlyIfStale: true))
      #expect(try await program.refresher.statuses() == [statuses[0]])
      try await program.end()
    }
    #expect(statuses[0] == statuses[1])
    #expect(statuses[0].scope == "hits")
    #expect(source.reasons == [.start])
  }

  @Test(arguments: Backend.available)
  func `pages of changes are merged with their tombstones, and each page's cursor is kept with its records`(
    backend: Backend
  ) async throws {
    let (place, source) = (try Place(backend), Source())
    let pages = [
      DeltaPage(
        records: [1, 2, 3].map { MergeRecord(["id": $0, "title": "\($0)"]) }, cursor: "a", hasMore: true),
      DeltaPage(records: [MergeRecord(["id": 4, "title": "4"])], tombstones: [2, 9], cursor: "b"),
      DeltaPage(records: [MergeRecord(["id": 4, "title": "four"])], tombstones: [2], cursor: "b"),
      DeltaPage(records: [MergeRecord(["id": 7, "title": "7"])], cursor: "c", isComplete: true),
    ]
    let program = try place.program()
    source.fail(2)
    try program.refresher.register(changesOf: Song.self, mergeOptions: MergeOptions(maximumDeletedShare: 1)) {
      request in
      // The second load fails, and the third is its repetition.
      let number = try await source.enter(request)
      return pages[number == 1 ? 0 : number - 2]
    }
    await #expect { try await program.refresher.refresh(Song.self) } throws: { ErrorCode.inputOutput ~= $0 }
    #expect(try await program.refresher.status(of: Song.self)?.cursor == "a")
    #expect(try await program.titles() == ["1", "2", "3"])
    #expect(try await program.refresher.refresh(Song.self).cursor == "b")
    #expect(try await program.titles() == ["1", "3", "4"])
    try await program.refresher.refresh(Song.self)
    #expect(try await program.titles() == ["1", "3", "four"])
    #expect(try await program.refresher.refresh(Song.self).cursor == "c")
    #expect(try await program.titles() == ["7"])
    #expect(source.cursors == [nil, "a", "a", "b", "b"])
    try await program.end()
  }

  @Test(arguments: Backend.available)
  func `the status of a read is deleted a week after its last attempt, once the program has read many other keys`(
    backend: Backend
  ) async throws {
    let place = try Place(backend)
    let program = try place.program()
    try program.refresher.register(list: Song.self, scope: "part") { _ in }
    try program.refresher.register(read: Song.self) { _ in }
    try await program.refresher.refresh(Song.self, scope: "part")
    for key in ["old", "used"] { try await program.refresher.read(Song.self, key: key) }
    place.clock.advance(by: 8 * 86_400)
    try await program.refresher.read(Song.self, key: "used")
    for number in 0..<100 { try await program.refresher.read(Song.self, key: "\(number)") }
    let scopes = Set(try await program.refresher.statuses().map(\.scope))
    #expect(!scopes.contains("old"))
    #expect(scopes == Set((0..<100).map { "\($0)" } + ["part", "used"]))
    #expect(try await program.refresher.status(of: Song.self, .read, scope: "old") == nil)
    try await program.end()
  }
}

/// An action that occupies the only slot in the queue of the songs' actions.
private struct BusyAction: AsyncEntityAction {
  typealias ManagedObjectType = Song
  let gate: AsyncStream<Void>
  let begun: AsyncStream<Void>.Continuation

  var entityName: String? { "Song" }

  func execute(context: ActionContext) async throws {
    begun.finish()
    for await _ in gate {}
  }
}
