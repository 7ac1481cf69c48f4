import Foundation

extension Workbench {
  /// All rows, every attribute read. Each side opens its file anew, outside of the sample.
  func fetchMeasure() -> Measure {
    Measure(
      name: "fetch", title: "Fetch everything as registered managed objects and read every attribute",
      items: people.count, item: "row",
      sides: [
        Side(name: "SQLite C", role: .raw, run: rawFetch),
        Side(name: "GRDB", role: .grdb, run: grdbFetch),
        Side(name: "Coherence", role: .ours, run: objectFetch),
      ],
      goals: [.ratio(to: .raw, atMost: 2), .ratio(to: .grdb, atMost: 1)])
  }

  private func rawFetch() throws -> Sample {
    let connection = try RawSQLite(path: rawFile().path)
    return try Stopwatch.sample {
      let people = try connection.fetchAll()
      return (people.checksum, people)
    }
  }

  private func grdbFetch() throws -> Sample {
    let database = try GRDBDatabase(path: rawFile().path)
    return try Stopwatch.sample {
      let people = try database.fetchAll()
      return (people.checksum, people)
    }
  }

  private func objectFetch() throws -> Sample {
    try ObjectStore.once(ObjectStore(file: objectLibrary().file)) { context in
      try Stopwatch.sample {
        let people = try context.fetchPeople()
        return (people.checksum, people)
      }
    }
  }
}
