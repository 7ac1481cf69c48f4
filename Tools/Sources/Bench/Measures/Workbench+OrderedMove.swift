import Coherence
import Foundation

extension Workbench {
  /// Moves the last member of a list of 10,000 to the front in SQLite a hundred times, each time with a save.
  func orderedMoveMeasure() -> Measure {
    let (members, moves) = (10_000, 100)
    return Measure(
      name: "ordered-move", title: "SQLite: move one of the 10,000 members of a list, save", items: moves, item: "move",
      sides: [
        Side(name: "SQLite C", role: .raw) { try self.scratch.with { try self.rawMoves($0, members, moves) } },
        Side(name: "Coherence", role: .ours) { try self.scratch.with { try self.moves($0, members, moves) } },
      ],
      goals: [])
  }

  /// The least work of a move: an update of one position. The index is the index of a list of Coherence.
  private func rawMoves(_ file: URL, _ members: Int, _ moves: Int) throws -> Sample {
    let connection = try RawSQLite(path: file.path)
    try connection.execute("CREATE TABLE track (id INTEGER PRIMARY KEY, title TEXT, album INTEGER, position INTEGER)")
    try connection.execute("CREATE INDEX track_album ON track (album, position, id)")
    try connection.execute(
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(members)) "
        + "INSERT INTO track SELECT i, 'track ' || i, 1, i FROM n")
    return try Stopwatch.sample {
      for number in 0..<moves {
        try connection.execute("UPDATE track SET position = \(-number) WHERE id = \(members - number)")
      }
      return (UInt64(moves), ())
    }
  }

  /// The same moves by objects, each with a save.
  private func moves(_ file: URL, _ members: Int, _ moves: Int) throws -> Sample {
    let model = try ManagedObjectModel {
      Entity("Album") { Relationship("tracks", toMany: "Track", inverse: "album", ordered: true) }
      Entity("Track") {
        Attribute("title", .string)
        Relationship("album", toOne: "Album", inverse: "tracks")
      }
    }
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    let store = try coordinator.addPersistentStore(type: .sqlite, at: file)
    func inContext<T>(_ body: (ManagedObjectContext) throws -> T) throws -> T {
      let context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
      return try context.performAndWait { try body(context) }
    }
    let id = try inContext { context in
      let album = try context.insertNewObject(forEntityName: "Album")
      for number in 0..<members {
        let track = try context.insertNewObject(forEntityName: "Track")
        try track.setValue("track \(number)", for: "title")
        try track.setObject(album, for: "album")
      }
      try context.save()
      return album.objectID
    }
    let sample = try inContext { context in
      let tracks = try context.existingObject(with: id)[OrderedToManyKey<ManagedObject>("tracks")]
      return try Stopwatch.sample {
        for _ in 0..<moves {
          tracks.move(from: members - 1, to: 0)
          try context.save()
        }
        return (UInt64(moves), ())
      }
    }
    try coordinator.remove(store)
    return sample
  }
}
