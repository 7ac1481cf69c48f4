import Coherence
import Foundation

extension Workbench {
  /// Inserts all rows as new records into an empty table, and commits. Each run has its own file.
  func insertMeasure() -> Measure {
    Measure(
      name: "insert", title: "Insert and save new objects", items: people.count, item: "row",
      sides: [
        Side(name: "SQLite C", role: .raw) { try self.scratch.with { try self.rawInsert($0) } },
        Side(name: "GRDB", role: .grdb) { try self.scratch.with { try self.grdbInsert($0) } },
        Side(name: "Coherence", role: .ours) { try self.scratch.with { try self.objectInsert($0) } },
      ],
      goals: [.ratio(to: .raw, atMost: 1.6), .ratio(to: .grdb, atMost: 1)])
  }

  private func rawInsert(_ file: URL) throws -> Sample {
    let connection = try RawSQLite(path: file.path)
    try connection.execute(RawSQLite.table)
    let seconds = try Stopwatch.seconds { try connection.insert(people) }
    return Sample(amount: seconds, checksum: try connection.fetchAll().checksum)
  }

  private func grdbInsert(_ file: URL) throws -> Sample {
    let database = try GRDBDatabase(path: file.path)
    try database.createTable()
    let seconds = try Stopwatch.seconds { try database.insert(people) }
    return Sample(amount: seconds, checksum: try database.fetchAll().checksum)
  }

  private func objectInsert(_ file: URL) throws -> Sample {
    let store = try ObjectStore(file: file)
    let context = store.makeContext()
    let sample = try context.performAndWait {
      try Stopwatch.sample { (0, try context.insert(people)) }
    }
    return Sample(amount: sample.amount, checksum: try store.readBack())
  }
}
