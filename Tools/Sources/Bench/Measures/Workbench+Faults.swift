import Foundation

extension Workbench {
  /// Reads records by identifier, one after the other, in one unit of work. Nothing is cached: Coherence's side has a
  /// new coordinator and a new context, and the other sides have a new connection.
  func faultMeasure() -> Measure {
    let indexes = shuffledIndexes(min(20_000, people.count))
    return Measure(
      name: "faults", title: "Fire faults by identifier, nothing cached", items: indexes.count, item: "fault",
      sides: [
        Side(name: "SQLite C", role: .raw) { try self.rawRead(indexes) },
        Side(name: "GRDB", role: .grdb) { try self.grdbRead(indexes) },
        Side(name: "Coherence", role: .ours) { try self.objectRead(indexes) },
      ],
      goals: [.ratio(to: .raw, atMost: 1.6)])
  }

  private func rawRead(_ indexes: [Int]) throws -> Sample {
    let connection = try RawSQLite(path: rawFile().path)
    let ids = indexes.map { people[$0].id }
    return try Stopwatch.sample {
      let people = try connection.fetch(ids)
      return (people.checksum, people)
    }
  }

  private func grdbRead(_ indexes: [Int]) throws -> Sample {
    let database = try GRDBDatabase(path: rawFile().path)
    let ids = indexes.map { people[$0].id }
    return try Stopwatch.sample {
      let people = try database.fetch(ids)
      return (people.checksum, people)
    }
  }

  private func objectRead(_ indexes: [Int]) throws -> Sample {
    let library = try objectLibrary()
    let ids = indexes.map { library.ids[$0] }
    return try ObjectStore.once(ObjectStore(file: library.file)) { context in
      try Stopwatch.sample {
        let people = try context.people(with: ids)
        return (people.checksum, people)
      }
    }
  }
}
