import CBench
import Coherence
import Foundation
import GRDB
import GRDBSQLite

/// A group of rows: the age, the number of rows, the sum of the scores.
private struct AgeGroup {
  var age: Int64
  var count: Int64
  var score: Double
}

extension [AgeGroup] {
  fileprivate var checksum: UInt64 {
    reduce(0) { $0 &* 31 &+ UInt64(bitPattern: $1.age) &+ UInt64(bitPattern: $1.count) &+ $1.score.bitPattern }
  }
}

extension Workbench {
  private static let statement = "SELECT age, COUNT(*), SUM(score) FROM person GROUP BY age ORDER BY age"

  /// Groups all rows in the engine. Each side opens its file again; the sample does not include the opening.
  func groupMeasure() -> Measure {
    Measure(
      name: "groups", title: "Group by age with count and sum", items: people.count, item: "row",
      sides: [
        Side(name: "SQLite C", role: .raw, run: rawGroups),
        Side(name: "GRDB", role: .grdb, run: grdbGroups),
        Side(name: "Coherence", role: .ours) {
          try self.objectGroups(ObjectStore(file: self.objectLibrary().file))
        },
      ],
      goals: [.ratio(to: .raw, atMost: 1.3), .ratio(to: .grdb, atMost: 1)])
  }

  func groupMeasure(_ server: PostgreSQLServer) -> Measure {
    Measure(
      name: "postgresql-groups", title: "PostgreSQL: group by age with count and sum", items: people.count, item: "row",
      sides: [
        Side(name: "libpq", role: .raw) { try self.rawGroups(server) },
        Side(name: "Coherence", role: .ours) {
          try self.objectGroups(ObjectStore(url: server.url, schema: server.objectSchema(self.people)))
        },
      ],
      goals: [.ratio(to: .raw, atMost: 1.3)])
  }

  private func rawGroups() throws -> Sample {
    let connection = try RawSQLite(path: rawFile().path)
    return try Stopwatch.sample {
      let statement = try connection.prepare(Self.statement)
      var groups: [AgeGroup] = []
      while try statement.step() {
        groups.append(
          AgeGroup(
            age: sqlite3_column_int64(statement.handle, 0), count: sqlite3_column_int64(statement.handle, 1),
            score: sqlite3_column_double(statement.handle, 2)))
      }
      return (groups.checksum, groups)
    }
  }

  private func grdbGroups() throws -> Sample {
    let database = try GRDBDatabase(path: rawFile().path)
    return try Stopwatch.sample {
      let groups = try database.queue.read { database in
        try GRDB.Row.fetchAll(database, sql: Self.statement).map { AgeGroup(age: $0[0], count: $0[1], score: $0[2]) }
      }
      return (groups.checksum, groups)
    }
  }

  private func rawGroups(_ server: PostgreSQLServer) throws -> Sample {
    let connection = try RawPostgreSQL(url: server.url, schema: server.rawSchema(people))
    return try Stopwatch.sample {
      let result = PQexecParams(connection.handle, Self.statement, 0, nil, nil, nil, nil, 1)
      defer { PQclear(result) }
      try connection.check(result)
      let groups = (0..<PQntuples(result)).map { row in
        func word(_ column: Int32) -> UInt64 {
          UInt64(bigEndian: UnsafeRawPointer(PQgetvalue(result, row, column)!).loadUnaligned(as: UInt64.self))
        }
        return AgeGroup(
          age: Int64(bitPattern: word(0)), count: Int64(bitPattern: word(1)), score: Double(bitPattern: word(2)))
      }
      return (groups.checksum, groups)
    }
  }

  private func objectGroups(_ store: ObjectStore) throws -> Sample {
    try ObjectStore.once(store) { context in
      try Stopwatch.sample {
        let request = AggregateRequest(
          FetchRequest(PersonObject.self), propertiesToGroupBy: ["age"],
          propertiesToFetch: ["age", .count, .sum(of: "score")])
        let groups = try context.fetchDictionaries(request).map { row in
          guard case .int(let age)? = row["age"], case .int(let count)? = row["@count"],
            case .double(let score)? = row["@sum.score"]
          else { throw BenchError("A group has values of other types.") }
          return AgeGroup(age: age, count: count, score: score)
        }
        return (groups.checksum, groups)
      }
    }
  }
}
