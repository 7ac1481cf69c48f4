import CoherenceActions
import CoherenceCore
import CoherenceRefresh
import CoherenceStrategies
import Foundation
import TestSupport
import Testing

@Suite("Entities and scopes of refreshes", .timeLimit(.minutes(15)))
struct RefreshEntityTests {
  private let source = Source()

  /// Works with films, of which some are short films; a film is stale after a minute.
  private func works() throws -> ManagedObjectModel {
    try ManagedObjectModel {
      Entity(
        "Work", isAbstract: true, userInfo: ["uniquenessAttributes": "id", EntityDescription.stalenessSetting: "60"]
      ) {
        Attribute("id", .int64)
      }
      Entity("Film", parent: "Work")
      Entity("ShortFilm", parent: "Film")
    }
    .addingRefreshStatus()
  }

  @Test func `an entity without a staleness interval inherits that of its nearest ancestor`() throws {
    #expect(try works().entity(named: "ShortFilm").stalenessInterval == .seconds(60))
  }

  @Test(arguments: Backend.available)
  func `a fetch of an ancestor or of a subentity begins the refresh of the stale records of an entity`(
    backend: Backend
  ) async throws {
    let (place, model) = (try Place(), try works())
    let connect = TestConnect(name: "Works", managedObjectModel: model, storeLocation: place.directory.url)
    try connect.attachPersistentStore(for: backend.newConfiguration())
    try await connect.start()
    var options = RefreshOptions()
    options.clock = place.clock
    let refresher = try Refresher(connect, options: options)
    try refresher.register(list: ManagedObject.self, entityName: "Film") { [source] in _ = try await source.enter($0) }
    await refresher.start()
    let view = connect.viewContext
    for (count, name) in ["ShortFilm", "Work"].enumerated() {
      await source.untilLoaded(count + 1)
      try await refresher.refresh(ManagedObject.self, entityName: "Film", onlyIfStale: true)
      place.clock.advance(by: 61)
      _ = try await view.perform { try view.fetch(FetchRequest<ManagedObject>(entityName: name)).count }
    }
    await source.untilLoaded(3)
    #expect(source.reasons == [.start, .staleFetch, .staleFetch])
    await refresher.stop()
    try await connect.stop()
  }

  @Test(arguments: Backend.available)
  func `statuses are sorted by their entities' names, their kinds and their scopes`(backend: Backend) async throws {
    let program = try Place(backend).program()
    let refresher = program.refresher
    try refresher.register(read: Song.self) { _ in }
    try refresher.register(list: ManagedObject.self, entityName: "Genre") { _ in }
    for scope in ["b", "a", nil] { try refresher.register(list: Song.self, scope: scope) { _ in } }
    try await refresher.read(Song.self, key: "9")
    for scope in ["b", "a", nil] { try await refresher.refresh(Song.self, scope: scope) }
    try await refresher.refresh(ManagedObject.self, entityName: "Genre")
    let statuses = try await refresher.statuses()
    #expect(statuses.map(\.name) == ["Genre", "Song", "Song", "Song", "Song"])
    #expect(statuses.map(\.type) == [.list, .list, .list, .list, .read])
    #expect(statuses.map(\.scope) == [nil, nil, "a", "b", "9"])
    #expect(try await RefreshStatus.all(in: program.connect.persistentStoreCoordinator) == statuses)
    try await program.end()
  }

  @Test func `the events of a refresh have the kind and the scope of their target`() async throws {
    let program = try Place().program()
    let refresher = program.refresher
    try refresher.register(read: Song.self) { _ in }
    try refresher.register(list: Song.self) { _ in }
    var events = refresher.events.makeAsyncIterator()
    try await refresher.read(Song.self, key: "7")
    try await refresher.refresh(Song.self)
    var targets: [RefreshTarget] = []
    while targets.count < 4, let event = await events.next() {
      switch event {
      case .started(let target, reason: _), .succeeded(let target, _), .failed(let target, error: _):
        targets.append(target)
      }
    }
    #expect(targets.map(\.kind) == [.read, .read, .list, .list])
    #expect(targets.map(\.scope) == ["7", "7", nil, nil])
    try await program.end()
  }

  @Test func `a read without a registration, an abstract entity and an entity without a store are refused`()
    async throws
  {
    let program = try Place().program()
    await #expect { try await program.refresher.read(Song.self, key: "1") } throws: { ErrorCode.invalidRefresh ~= $0 }
    try await program.end()

    let detached = try Refresher(TestConnect(name: "Works", managedObjectModel: works()))
    #expect { try detached.register(list: ManagedObject.self, entityName: "Work") { _ in } } throws: {
      ErrorCode.unmanagedEntity ~= $0
    }
    await #expect { try await detached.status(of: ManagedObject.self, entityName: "Film") } throws: {
      ErrorCode.noStore ~= $0
    }
  }
}
