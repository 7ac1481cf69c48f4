import CoherenceCore
import CoherencePostgreSQL
import TestSupport
import Testing

/// The statements of a cascade in the log of a PostgreSQL store.
@Suite(.needsServer) struct CascadeStatementTests {
  private let schema: TemporarySchema
  private let log = MessageLog()
  private let coordinator: PersistentStoreCoordinator

  init() throws {
    schema = try TemporarySchema()
    let model = try ManagedObjectModel {
      Entity("Artist") { Relationship("albums", toMany: "Album", inverse: "artist", deleteRule: .cascade) }
      Entity("Album") {
        Relationship("artist", toOne: "Artist", inverse: "albums")
        Relationship("tracks", toMany: "Track", inverse: "album", ordered: true, deleteRule: .cascade)
      }
      Entity("Track") {
        Attribute("title", .string)
        Relationship("album", toOne: "Album", inverse: "tracks")
      }
    }
    coordinator = PersistentStoreCoordinator(managedObjectModel: model, logger: log.logger)
    try coordinator.addPersistentStore(
      type: .postgreSQL, at: schema.url, options: [PostgreSQLOption.schema: .string(schema.name)])
  }

  private func context() -> ManagedObjectContext {
    ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
  }

  private func fill(albums: Int, tracks: Int) throws -> ManagedObjectID {
    let context = context()
    return try context.performAndWait {
      let artist = try context.insertNewObject(forEntityName: "Artist")
      for _ in 0..<albums {
        let album = try context.insertNewObject(forEntityName: "Album")
        try album.setObject(artist, for: "artist")
        for number in 0..<tracks {
          let track = try context.insertNewObject(forEntityName: "Track")
          try track.setValue("\(number)", for: "title")
          try track.setObject(album, for: "album")
        }
      }
      try context.save()
      return artist.objectID
    }
  }

  /// The statements of a cascade.
  private struct Cascade {
    /// The number of reads.
    let reads: Int
    /// The numbers of statements in each pipeline of the save.
    let pipelines: [Int]
    /// The texts of the statements that delete, each once for all of its rows.
    let deletes: [String]
    /// The number of statements that update.
    let updates: Int
  }

  private func delete(_ id: ManagedObjectID) throws -> Cascade {
    let context = context()
    return try context.performAndWait {
      let artist = try context.existingObject(with: id)
      log.removeAll()
      context.delete(artist)
      try context.save()
      let messages = log.messages
      return Cascade(
        reads: log.reads.count,
        pipelines: messages.filter { $0.hasPrefix("save, ") }.compactMap { Int($0.split(separator: " ")[1]) },
        deletes: messages.filter { $0.hasPrefix("DELETE FROM ") },
        updates: messages.count { $0.hasPrefix("UPDATE ") })
    }
  }

  @Test func `a cascade reads each level once, and its save deletes in one pipeline of few statements`() throws {
    let few = try delete(fill(albums: 2, tracks: 3))
    let many = try delete(fill(albums: 100, tracks: 100))
    #expect(few.reads == many.reads, "\(few.reads) \(many.reads)")
    #expect(many.reads <= 4)
    #expect(few.deletes.count == 3 && many.deletes.count == 3, "\(many.deletes)")
    #expect(few.pipelines.count == 1 && many.pipelines.count == 1)
    // A statement for the artist, one for the albums, and one for each 4,096 tracks.
    #expect(many.pipelines.first.map { $0 <= 10 } == true, "\(many.pipelines)")
    // A row is deleted before the row that it refers to, so that no reference has to be cleared.
    #expect(many.updates == 0)
    let left = context()
    let counts = try left.performAndWait {
      try ["Artist", "Album", "Track"].map { try left.count(for: FetchRequest<ManagedObject>(entityName: $0)) }
    }
    #expect(counts == [0, 0, 0])
  }

  /// Deletes all albums in a loop that reads the relationships of each, and saves.
  private func deleteAlbumsWhileReading(_ id: ManagedObjectID) throws -> Int {
    let context = context()
    return try context.performAndWait {
      let artist = try context.existingObject(with: id)
      log.removeAll()
      for album in try artist.objects(for: "albums") {
        let members = try album.objects(for: "tracks")
        if !members.isEmpty, try album.object(for: "artist") != nil { context.delete(album) }
      }
      try context.save()
      return log.reads.count
    }
  }

  @Test func `reads between the deletes of a loop let the delete rules be applied together`() throws {
    let few = try deleteAlbumsWhileReading(fill(albums: 2, tracks: 3))
    let many = try deleteAlbumsWhileReading(fill(albums: 100, tracks: 3))
    #expect(many <= few + 2, "\(few) \(many)")
  }
}
