import Coherence
import Foundation

extension Workbench {
  /// Fetches all rows as snapshots, without objects.
  func snapshotMeasure() -> Measure {
    Measure(
      name: "snapshots", title: "Fetch everything as snapshots and read every property", items: people.count,
      item: "row",
      sides: [
        Side(name: "SQLite C", role: .raw) {
          let connection = try RawSQLite(path: self.rawFile().path)
          return try Self.sample { try connection.fetchAll() }
        },
        Side(name: "GRDB", role: .grdb) {
          let database = try GRDBDatabase(path: self.rawFile().path)
          return try Self.sample { try database.fetchAll() }
        },
        Side(name: "Coherence", role: .ours) {
          try ObjectStore.once(ObjectStore(file: self.objectLibrary().file)) { context in
            try Self.sample { try context.snapshots(of: FetchRequest(PersonObject.self), as: PersonSnapshot.self) }
          }
        },
      ],
      goals: [.ratio(to: .raw, atMost: 1.3), .ratio(to: .grdb, atMost: 1)])
  }

  private static func sample<Fields: PersonFields>(_ fetch: () throws -> [Fields]) throws -> Sample {
    try Stopwatch.sample {
      let people = try fetch()
      return (people.checksum, people)
    }
  }
}
