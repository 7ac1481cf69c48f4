import CoherenceCore
import CoherenceSQLite
import TestSupport
import Testing

/// The statements of predicates that calculate, in the log of a SQLite store.
@Suite struct ExpressionStatementTests {
  private let place: TemporaryStore
  private let log = MessageLog()
  private let coordinator: PersistentStoreCoordinator

  init() throws {
    place = try TemporaryStore()
    let model = try ManagedObjectModel {
      Entity("Album") { Relationship("tracks", toMany: "Track", inverse: "album") }
      Entity("Track") {
        Attribute("plays", .int64)
        Attribute("skips", .int64)
        Relationship("album", toOne: "Album", inverse: "tracks")
      }
    }
    coordinator = PersistentStoreCoordinator(managedObjectModel: model, logger: log.logger)
    try coordinator.addPersistentStore(type: .sqlite, at: place.url)
  }

  private func context() -> ManagedObjectContext {
    ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
  }

  /// Saves albums with ten tracks each: the track with the number n has n plays and nine skips.
  private func fill(albums: Int) throws {
    let context = context()
    try context.performAndWait {
      for _ in 0..<albums {
        let album = try context.insertNewObject(forEntityName: "Album")
        for number in 0..<10 {
          let track = try context.insertNewObject(forEntityName: "Track")
          try track.setValue(number, for: "plays")
          try track.setValue(9, for: "skips")
          try track.setObject(album, for: "album")
        }
      }
      try context.save()
    }
  }

  /// The number of found records, and of the statements that read.
  private func fetch(_ entity: String, _ format: String) throws -> (found: Int, reads: Int) {
    let request = FetchRequest<ManagedObject>(entityName: entity).filter(try FetchPredicate(format: format))
    let context = context()
    return try context.performAndWait {
      log.removeAll()
      return (try context.fetch(request).count, log.reads.count)
    }
  }

  @Test(arguments: [1, 100])
  func `a predicate with arithmetic or a subquery is one statement for any number of records`(
    albums: Int
  ) throws {
    try fill(albums: albums)
    #expect(try fetch("Track", "plays * 2 + 1 > skips") == (5 * albums, 1))
    #expect(try fetch("Track", "modulus:by:(plays, 2) == 1") == (5 * albums, 1))
    #expect(try fetch("Album", "SUBQUERY(tracks, $track, $track.plays > 5).@count == 4") == (albums, 1))
    #expect(try fetch("Album", "SUBQUERY(tracks, $t, $t.plays + $t.skips > 17).@count > 1") == (0, 1))
  }
}
