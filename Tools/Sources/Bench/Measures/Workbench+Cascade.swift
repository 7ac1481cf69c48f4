import Coherence
import Foundation

extension Workbench {
  /// Deletes an artist in SQLite, whose 100 albums have 100 tracks each, by the delete rules of the relationships.
  func cascadeMeasure() -> Measure {
    let (albums, tracks) = (100, 100)
    return Measure(
      name: "cascade", title: "SQLite: delete an artist with all albums and tracks", items: albums * (tracks + 1) + 1,
      item: "record",
      sides: [
        Side(name: "SQLite C", role: .raw) { try self.scratch.with { try self.rawCascade($0, albums, tracks) } },
        Side(name: "Coherence", role: .ours) { try self.scratch.with { try self.cascade($0, albums, tracks) } },
      ],
      goals: [.ratio(to: .raw, atMost: 3)])
  }

  /// One statement for each table, in the order of the references.
  private func rawCascade(_ file: URL, _ albums: Int, _ tracks: Int) throws -> Sample {
    let connection = try RawSQLite(path: file.path)
    try connection.execute("CREATE TABLE artist (id INTEGER PRIMARY KEY)")
    try connection.execute("CREATE TABLE album (id INTEGER PRIMARY KEY, artist INTEGER REFERENCES artist)")
    try connection.execute(
      "CREATE TABLE track (id INTEGER PRIMARY KEY, title TEXT, album INTEGER REFERENCES album)")
    try connection.execute("CREATE INDEX album_artist ON album (artist)")
    try connection.execute("CREATE INDEX track_album ON track (album)")
    try connection.transaction {
      try connection.execute("INSERT INTO artist VALUES (1)")
      try connection.execute(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(albums)) "
          + "INSERT INTO album SELECT i, 1 FROM n")
      try connection.execute(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(albums * tracks)) "
          + "INSERT INTO track SELECT i, 'track ' || i, 1 + i % \(albums) FROM n")
    }
    return try Stopwatch.sample {
      try connection.transaction {
        try connection.execute("DELETE FROM track WHERE album IN (SELECT id FROM album WHERE artist = 1)")
        try connection.execute("DELETE FROM album WHERE artist = 1")
        try connection.execute("DELETE FROM artist WHERE id = 1")
      }
      return (UInt64(albums * tracks), ())
    }
  }

  private func cascade(_ file: URL, _ albums: Int, _ tracks: Int) throws -> Sample {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: try Self.cascadeModel)
    let store = try coordinator.addPersistentStore(type: .sqlite, at: file)
    let artist = try fillCascade(albums, tracks, in: coordinator)
    let context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
    let sample = try context.performAndWait {
      let artist = try context.existingObject(with: artist)
      return try Stopwatch.sample {
        context.delete(artist)
        try context.save()
        return (UInt64(albums * tracks), ())
      }
    }
    try coordinator.remove(store)
    return sample
  }

  private static var cascadeModel: ManagedObjectModel {
    get throws {
      try ManagedObjectModel {
        Entity("Artist") { Relationship("albums", toMany: "Album", inverse: "artist", deleteRule: .cascade) }
        Entity("Album") {
          Relationship("artist", toOne: "Artist", inverse: "albums")
          Relationship("tracks", toMany: "Track", inverse: "album", deleteRule: .cascade)
        }
        Entity("Track") {
          Attribute("title", .string)
          Relationship("album", toOne: "Album", inverse: "tracks")
        }
      }
    }
  }

  private func fillCascade(
    _ albums: Int, _ tracks: Int, in coordinator: PersistentStoreCoordinator
  ) throws -> ManagedObjectID {
    let context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
    return try context.performAndWait {
      let artist = try context.insertNewObject(forEntityName: "Artist")
      for _ in 0..<albums {
        let album = try context.insertNewObject(forEntityName: "Album")
        try album.setObject(artist, for: "artist")
        for number in 0..<tracks {
          let track = try context.insertNewObject(forEntityName: "Track")
          try track.setValue("track \(number)", for: "title")
          try track.setObject(album, for: "album")
        }
      }
      try context.save()
      return artist.objectID
    }
  }
}
