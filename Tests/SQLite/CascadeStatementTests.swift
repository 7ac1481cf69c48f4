import CoherenceCore
import CoherenceSQLite
import TestSupport
import Testing

/// The statements of a cascade in the log of a SQLite store.
@Suite struct CascadeStatementTests {
  private let place: TemporaryStore
  private let log = MessageLog()
  private let coordinator: PersistentStoreCoordinator

  init() throws {
    place = try TemporaryStore()
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
    try coordinator.addPersistentStore(type: .sqlite, at: place.url)
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

  /// The reads of a cascade, and the statements of its save.
  private func delete(_ id: ManagedObjectID) throws -> (reads: Int, runs: [StatementRun], updates: Int) {
    let context = context()
    return try context.performAndWait {
      let artist = try context.existingObject(with: id)
      log.removeAll()
      context.delete(artist)
      try context.save()
      let runs = log.runs
      return (log.reads.count, runs.filter { $0.verb == "DELETE" }, runs.count { $0.verb == "UPDATE" })
    }
  }

  @Test func `a cascade reads each level once, and its save deletes with one statement for each entity`() throws {
    let few = try delete(fill(albums: 2, tracks: 3))
    let many = try delete(fill(albums: 100, tracks: 100))
    #expect(few.reads == many.reads, "\(few) \(many)")
    #expect(many.reads <= 4)
    #expect(few.runs.map(\.times).sorted() == [1, 2, 6])
    #expect(many.runs.map(\.times).sorted() == [1, 100, 10_000])
    // A row is deleted before the row that it refers to, so that no reference has to be cleared.
    #expect(many.updates == 0)
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
