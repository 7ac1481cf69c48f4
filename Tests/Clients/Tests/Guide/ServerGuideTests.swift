import Coherence
import CoherencePostgreSQL
import Foundation
import Testing

/// The artists and albums of a server.
struct CatalogueServer: Sendable {
  let container: GenericPersistentContainer<ContextStrategy.DirectIndependent>

  init(_ store: StoreConfiguration) throws {
    container = GenericPersistentContainer(name: "Catalogue", managedObjectModel: try Catalogue.model())
    try container.attachPersistentStore(for: store)
  }

  /// The database at a URL such as `postgresql://app@db.example/music`.
  ///
  /// - Parameter migrates: Whether the database may be changed to fit the model, which only a deployment does.
  static func database(_ url: URL, migrates: Bool) -> StoreConfiguration {
    StoreConfiguration(
      type: .postgreSQL,
      options: [
        PostgreSQLOption.poolSize: 16, PostgreSQLOption.schemaLockTimeout: 5,
        StoreOption.migrateAutomatically: .bool(migrates),
      ], location: url)
  }
}

extension CatalogueServer {
  /// The albums of an artist, as values for a reply.
  func albums(by name: String) async throws -> [Album.Snapshot] {
    try await container.performBackgroundTask { context in
      try context.snapshots(of: FetchRequest(Album.self).filter { $0.artist.name == name }.sort(\.title))
    }
  }

  /// Sets the country of an artist, and inserts the artist if the database has none of the name.
  func setCountry(_ country: String, of name: String) async throws {
    try await container.performBackgroundTask(retrying: .lostRaces) { context, _ in
      let request = FetchRequest(Artist.self).filter { $0.name == name }
      let artist = try context.fetchFirst(request) ?? Artist(context: context)
      artist.name = name
      artist.country = country
    }
  }

  /// The status of the reply to a request that failed.
  static func status(of error: any Error) -> Int {
    guard let error = error as? CoherenceError else { return 500 }
    switch error.code {
    case .objectNotFound: return 404
    case .versionConflict, .uniquenessViolated: return 409
    case .validationFailed: return 422
    default: return error.isRetryable && error.outcome == .notApplied ? 503 : 500
    }
  }
}

@Suite("The article about servers")
struct ServerGuideTests {
  @Test func `64 requests at once insert each artist once`() async throws {
    let server = try CatalogueServer(StoreConfiguration(type: .inMemory))
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<64 {
        group.addTask { try await server.setCountry("South Africa", of: "Artist \(number % 32)") }
      }
      try await group.waitForAll()
    }
    let artists = try await server.container.performBackgroundTask { context in
      try context.count(for: FetchRequest(Artist.self))
    }
    #expect(artists == 32)
  }

  @Test func `a reply has the albums of an artist as values`() async throws {
    let server = try CatalogueServer(StoreConfiguration(type: .inMemory))
    try await server.container.performBackgroundTask { context in
      let album = try Album(context: context)
      album.title = "Pastel Blues"
      let artist = try Artist(context: context)
      artist.name = "Nina Simone"
      album.artist = artist
      try context.save()
    }
    let albums = try await server.albums(by: "Nina Simone")
    #expect(albums.map(\.title) == ["Pastel Blues"])
    #expect(try !JSONEncoder().encode(albums).isEmpty)
  }

  @Test func `a server refuses a store of an earlier model until a deployment has migrated it`() throws {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("server-\(UUID().uuidString).sqlite")
    defer {
      for suffix in ["", "-wal", "-shm"] {
        try? FileManager.default.removeItem(at: URL(fileURLWithPath: file.path + suffix))
      }
    }
    func store(migrates: Bool) -> StoreConfiguration {
      StoreConfiguration(
        type: .sqlite, options: [StoreOption.migrateAutomatically: .bool(migrates)], location: file)
    }
    let earlier = GenericPersistentContainer<ContextStrategy.Direct>(
      name: "Catalogue", managedObjectModel: try ManagedObjectModel { Entity("Artist") { Attribute("name", .string) } })
    try earlier.detach(persistentStore: earlier.attachPersistentStore(for: store(migrates: true)))
    #expect { try CatalogueServer(store(migrates: false)) } throws: { ErrorCode.incompatibleModel ~= $0 }
    _ = try CatalogueServer(store(migrates: true))
    _ = try CatalogueServer(store(migrates: false))
  }

  @Test func `a database is migrated by a deployment only`() throws {
    let url = try #require(URL(string: "postgresql://app@db.example/music"))
    let options = CatalogueServer.database(url, migrates: false).options
    #expect(options[StoreOption.migrateAutomatically] == .bool(false))
    #expect(CatalogueServer.database(url, migrates: true).type == .postgreSQL)
  }

  @Test func `the status of a reply tells whether the request may be repeated`() {
    #expect(CatalogueServer.status(of: CoherenceError(.versionConflict, "A conflict.")) == 409)
    #expect(CatalogueServer.status(of: CoherenceError(.storeBusy, "Busy.", isRetryable: true)) == 503)
    let unknown = CoherenceError(.connectionLost, "Lost.", outcome: .unknown, isRetryable: true)
    #expect(CatalogueServer.status(of: unknown) == 500)
  }
}
