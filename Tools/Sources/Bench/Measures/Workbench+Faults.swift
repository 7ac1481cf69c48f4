import Foundation

extension Workbench {
  /// Reads records by identifier, one after the other, in one unit of work. Nothing is cached: Coherence's side has a
  /// new coordinator and a new context, and the other sides have a new connection.
  func faultMeasure() -> Measure {
    let places = places(min(20_000, people.count))
    return Measure(
      name: "faults", title: "Fire faults by identifier, nothing cached", items: places.count, item: "fault",
      sides: [
        Side(name: "SQLite C", role: .raw) { try self.rawRead(places) },
        Side(name: "GRDB", role: .grdb) { try self.grdbRead(places) },
        Side(name: "Coherence", role: .ours) { try self.objectRead(places) },
      ],
      goals: [.ratio(to: .raw, atMost: 1.6)])
  }

  private func rawRead(_ places: [Int]) throws -> Sample {
    let connection = try RawSQLite(path: rawFile().path)
    let ids = places.map { people[$0].id }
    return try Stopwatch.sample {
      let people = try connection.fetch(ids)
      return (people.checksum, people)
    }
  }

  private func grdbRead(_ places: [Int]) throws -> Sample {
    let database = try GRDBDatabase(path: rawFile().path)
    let ids = places.map { people[$0].id }
    return try Stopwatch.sample {
      let people = try database.fetch(ids)
      return (people.checksum, people)
    }
  }

  private func objectRead(_ places: [Int]) throws -> Sample {
    let library = try objectLibrary()
    let ids = places.map { library.ids[$0] }
    return try ObjectStore.once(ObjectStore(file: library.file)) { context in
      try Stopwatch.sample {
        let people = try context.people(with: ids)
        return (people.checksum, people)
      }
    }
  }
}
