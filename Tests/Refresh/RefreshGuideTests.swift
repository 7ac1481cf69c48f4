import CoherenceActions
import CoherenceCore
import CoherenceInMemory
import CoherenceRefresh
import CoherenceStrategies
import Foundation
import Logging
import Testing
import TestSupport

/// The code of the module's articles.
@Suite("The articles on refreshes", .timeLimit(.minutes(15)))
struct RefreshGuideTests {
  /// A service with one record of each kind.
  private struct Service: Sendable {
    struct Changes: Sendable {
      var artists: [MergeRecord]
      var deleted: [Int]
      var cursor: String
      var hasMore: Bool
    }

    func songs() async throws -> [MergeRecord] { [MergeRecord(["id": 1, "title": "So What"])] }
    func song(_ key: String) async throws -> MergeRecord {
      MergeRecord(["id": Int(key) ?? 0, "title": "Blue in Green"])
    }
    func mergeAlbums(in context: ActionContext) async throws {
      let entity = try #require(context.persistentStoreCoordinator).managedObjectModel.entity(named: "Album")
      try await context.perform { _ = try context.merge(records: [MergeRecord(["id": 1])], for: entity) }
    }
    func changes(since cursor: String?) async throws -> Changes {
      Changes(
        artists: cursor == nil ? [MergeRecord(["id": 1])] : [MergeRecord(["id": 2])], deleted: cursor == nil ? [] : [1],
        cursor: cursor == nil ? "1" : "2", hasMore: cursor == nil)
    }
  }

  private final class Album: ManagedObject {}
  private final class Artist: ManagedObject {}

  @Test func `the examples of the landing page refresh each entity`() async throws {
    let service = Service()
    let temporary = TemporaryDirectory()
    let directory = temporary.url
    let model = try ManagedObjectModel {
      Entity("Song", class: Song.self, userInfo: ["uniquenessAttributes": "id"]) {
        Attribute("id", .int64)
        Attribute("title", .string, default: "")
      }
      Entity("Album", class: Album.self, uniqueness: [["id"]]) { Attribute("id", .int64) }
      Entity("Artist", class: Artist.self, uniqueness: [["id"]]) { Attribute("id", .int64) }
    }
    let connect = GenericConnect<ContextStrategy.Mixed>(
      name: "Music", managedObjectModel: try model.addingRefreshStatus(), storeLocation: directory)
    try connect.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
    try await connect.start()
    let refresher = try Refresher(connect)
    try refresher.register(list: Song.self, stalenessInterval: .seconds(600)) { request in
      let songs = try await service.songs()
      try await request.context.perform {
        _ = try request.context.merge(records: songs, for: request.entity, options: .replaceAll)
      }
    }
    await refresher.start()
    try refresher.register(list: Album.self, schedule: try .cron("0 5 * * *", jitter: .seconds(600))) { request in
      try await service.mergeAlbums(in: request.context)
    }
    try refresher.register(changesOf: Artist.self) { request in
      let reply = try await service.changes(since: request.cursor)
      return DeltaPage(
        records: reply.artists, tombstones: reply.deleted.map { MergeKey($0) }, cursor: reply.cursor,
        hasMore: reply.hasMore)
    }
    try refresher.register(read: Song.self) { request in
      let song = try await service.song(request.scope ?? "")
      try await request.context.perform { _ = try request.context.merge(records: [song], for: request.entity) }
    }
    try await refresher.read(Song.self, key: "7")
    for type in [Song.self, Album.self, Artist.self] as [ManagedObject.Type] {
      try await refresher.refresh(type, onlyIfStale: true)
    }
    let statuses = try await refresher.statuses()
    #expect(statuses.map(\.name) == ["Album", "Artist", "Song", "Song"])
    #expect(statuses.allSatisfy { $0.lastSyncStatus == .succeeded })
    #expect(statuses[1].cursor == "2")
    let view = connect.viewContext
    let artists = try await view.perform { try view.count(for: FetchRequest(Artist.self)) }
    #expect(artists == 1)
    await refresher.stop()
    try await connect.stop()
  }

  @Test func `a program follows the statuses`() async throws {
    let program = try Place().program()
    let (connect, refresher) = (program.connect, program.refresher)
    try refresher.register(list: Song.self) { _ in }
    let messages = MessageLog()
    let log = messages.logger
    let follower = Task {
      for await _ in try connect.persistentStoreCoordinator.entityChanges(of: RefreshStatus.entityName) {
        for status in try await refresher.statuses() { log.info("\(status.name): \(status.lastSyncStatus)") }
      }
    }
    // The follower misses the changes before its start.
    while messages.texts(.info).isEmpty { try await refresher.refresh(Song.self) }
    follower.cancel()
    _ = await follower.result
    #expect(messages.texts(.info)[0].hasPrefix("Song: "))
    try await program.end()
  }
}
