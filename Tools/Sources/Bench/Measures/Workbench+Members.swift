import Coherence
import Foundation

extension Workbench {
  /// Counts the members of one album a thousand times in SQLite, each time in a new context.
  func memberCountMeasure() -> Measure {
    let library = scratch.fresh()
    let filled = Result {
      let music = try MusicLibrary(type: .sqlite, location: library)
      try music.fillOneAlbum(members: Self.memberCount)
      try music.close()
    }
    return Measure(
      name: "member-count", title: "SQLite: count the 10,000 members of a list", items: Self.countRounds, item: "count",
      sides: [
        Side(name: "SQLite C", role: .raw) {
          try filled.get()
          return try self.rawCount(library)
        },
        Side(name: "Coherence", role: .ours) {
          try filled.get()
          let music = try MusicLibrary(type: .sqlite, location: library)
          let sample = try music.countMembers(Self.countRounds)
          try music.close()
          return sample
        },
      ],
      goals: [.ratio(to: .raw, atMost: 1.3)])
  }

  /// Inserts new records into SQLite with one batch request.
  func batchInsertMeasure() -> Measure { batchMeasure("batch-insert", "insert 20,000 new records", isRepeated: false) }

  /// Upserts records by their unique value in SQLite, all of them with a changed value.
  func upsertMeasure() -> Measure {
    batchMeasure("upsert", "change 20,000 records by a unique value", isRepeated: true)
  }

  private static let memberCount = 10_000
  private static let countRounds = 1_000

  private func rawCount(_ file: URL) throws -> Sample {
    let connection = try RawSQLite(path: file.path)
    return try Stopwatch.sample {
      var sum: UInt64 = 0
      for _ in 0..<Self.countRounds {
        let number = try connection.text(
          "SELECT COUNT(*) FROM \"Track\" WHERE \"album\" = (SELECT \"$id\" FROM \"Album\" LIMIT 1)")
        sum &+= UInt64(number) ?? 0
      }
      return (sum, ())
    }
  }

  private func batchMeasure(_ name: String, _ title: String, isRepeated: Bool) -> Measure {
    let count = 20_000
    return Measure(
      name: name, title: "SQLite: \(title)", items: count, item: "record",
      sides: [
        Side(name: "SQLite C", role: .raw) {
          try self.scratch.with { try self.rawBatch($0, count, isRepeated: isRepeated) }
        },
        Side(name: "Coherence", role: .ours) {
          try self.scratch.with { try self.batch($0, count, isRepeated: isRepeated) }
        },
      ],
      goals: [.ratio(to: .raw, atMost: 3)])
  }

  private func rawBatch(_ file: URL, _ count: Int, isRepeated: Bool) throws -> Sample {
    let connection = try RawSQLite(path: file.path)
    try connection.execute("CREATE TABLE work (id INTEGER PRIMARY KEY, code TEXT UNIQUE, plays INTEGER)")
    func insert(_ plays: Int) throws {
      try connection.transaction {
        for number in 0..<count {
          try connection.execute(
            "INSERT INTO work (code, plays) VALUES ('code \(number)', \(plays)) "
              + "ON CONFLICT (code) DO UPDATE SET plays = excluded.plays WHERE plays IS NOT excluded.plays")
        }
      }
    }
    if isRepeated { try insert(1) }
    return try Stopwatch.sample {
      try insert(2)
      return (UInt64(count), ())
    }
  }

  private func batch(_ file: URL, _ count: Int, isRepeated: Bool) throws -> Sample {
    let model = try ManagedObjectModel {
      Entity("Work", uniqueness: [["code"]]) {
        Attribute("code", .string)
        Attribute("plays", .int64)
      }
    }
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    let store = try coordinator.addPersistentStore(type: .sqlite, at: file)
    let context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
    func insert(_ plays: Int64) throws -> Int {
      let result = try context.execute(
        BatchInsertRequest(
          entityName: "Work", rows: (0..<count).lazy.map { ["code": .string("code \($0)"), "plays": .int(plays)] },
          onDuplicate: .update(by: "code")))
      return result.inserted.count + result.updated.count
    }
    let sample = try context.performAndWait {
      if isRepeated { _ = try insert(1) }
      return try Stopwatch.sample { (UInt64(try insert(2)), ()) }
    }
    try coordinator.remove(store)
    return sample
  }
}

extension MusicLibrary {
  /// Saves one album with a number of tracks.
  fileprivate func fillOneAlbum(members: Int) throws {
    let context = makeContext()
    try context.performAndWait {
      let album = try AlbumObject(context: context)
      try album.setValue("album", for: "title")
      for number in 0..<members {
        let track = try TrackObject(context: context)
        try track.setValue("\(number)", for: "title")
        track[TrackObject.albumKey] = album
      }
      try context.save()
    }
  }

  /// Counts the members of the first album repeatedly, each time in another unit of work.
  fileprivate func countMembers(_ rounds: Int) throws -> Sample {
    let context = makeContext()
    let albums = try context.performAndWait { try context.fetch(FetchRequest(AlbumObject.self).limit(1)) }
    return Stopwatch.sample {
      var sum: UInt64 = 0
      for _ in 0..<rounds { sum &+= UInt64(context.performAndWait { albums[0].tracks.count }) }
      return (sum, ())
    }
  }
}
