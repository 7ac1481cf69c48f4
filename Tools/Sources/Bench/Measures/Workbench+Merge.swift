import CBench
import Coherence
import Foundation

extension Workbench {
  /// Merges all rows into the stored rows, one in a hundred with changes. Each run has its own rows.
  func mergeMeasure() -> Measure {
    sqliteMerge("merge", "Merge all records into a table of them, 1 % changed", changed: changedPeople, atMost: 1.5)
  }

  /// Merges all rows into the stored rows, without a change.
  func idleMergeMeasure() -> Measure {
    sqliteMerge("merge-idle", "Merge all records into a table of them, none changed", changed: people, atMost: 1.5)
  }

  func mergeMeasure(_ server: PostgreSQLServer) -> Measure {
    postgreSQLMerge(
      server, "postgresql-merge", "PostgreSQL: merge all records into a table of them, 1 % changed",
      changed: changedPeople)
  }

  func idleMergeMeasure(_ server: PostgreSQLServer) -> Measure {
    postgreSQLMerge(
      server, "postgresql-merge-idle", "PostgreSQL: merge all records into a table of them, none changed",
      changed: people)
  }

  /// The stored people, one in a hundred with a new age, which no generated row has.
  var changedPeople: [Person] {
    var changed = people
    for index in shuffledIndexes(people.count / 100) { changed[index].age = 100 }
    return changed
  }

  // MARK: SQLite

  private func sqliteMerge(_ name: String, _ title: String, changed: [Person], atMost bound: Double) -> Measure {
    Measure(
      name: name, title: title, items: people.count, item: "record",
      sides: [
        Side(name: "SQLite C, staging and upsert", role: .raw) {
          try self.rawMerge { try $0.mergeByStaging(changed, joining: false) }
        },
        Side(name: "SQLite C, staging and join", role: .raw) {
          try self.rawMerge { try $0.mergeByStaging(changed, joining: true) }
        },
        Side(name: "SQLite C, an upsert for each", role: .raw) { try self.rawMerge { try $0.mergeByUpserts(changed) } },
        Side(name: "Coherence", role: .ours) { try self.merge(changed) },
      ],
      goals: [.ratio(to: .raw, atMost: bound)])
  }

  func rawMerge(_ merge: (RawSQLite) throws -> Void) throws -> Sample {
    try scratch.with(copyOf: rawFile()) { file in
      let connection = try RawSQLite(path: file.path)
      let seconds = try Stopwatch.seconds { try merge(connection) }
      return Sample(amount: seconds, checksum: try connection.fetchAll().checksum)
    }
  }

  private func merge(_ changed: [Person]) throws -> Sample {
    try scratch.with { file in
      let store = try MergeStore(file: file)
      _ = try store.merge(people.map { MergeRecord($0) })
      return try merge(changed, into: store)
    }
  }

  private func merge(_ changed: [Person], into store: MergeStore) throws -> Sample {
    let (seconds, result) = try store.merge(changed.map { MergeRecord($0) })
    let expected = zip(changed, people).count { $0.age != $1.age }
    guard result.updated == expected, result.unchanged == people.count - expected else {
      throw BenchError("The merge changed \(result.updated) records where \(expected) differ.")
    }
    let checksum = try store.readBack()
    try store.close()
    return Sample(amount: seconds, checksum: checksum)
  }

  // MARK: PostgreSQL

  private func postgreSQLMerge(
    _ server: PostgreSQLServer, _ name: String, _ title: String, changed: [Person]
  ) -> Measure {
    Measure(
      name: name, title: title, items: people.count, item: "record",
      sides: [
        Side(name: "libpq, staging and upsert", role: .raw) {
          try self.rawMerge(server) { try $0.mergeByStaging(changed, joining: false) }
        },
        Side(name: "libpq, staging and join", role: .raw) {
          try self.rawMerge(server) { try $0.mergeByStaging(changed, joining: true) }
        },
        Side(name: "Coherence", role: .ours) {
          try server.withSchema { schema in
            let store = try MergeStore(url: server.url, schema: schema)
            _ = try store.merge(self.people.map { MergeRecord($0) })
            try server.finishBackgroundWork()
            return try self.merge(changed, into: store)
          }
        },
      ],
      goals: [.ratio(to: .raw, atMost: 1.5)])
  }

  func rawMerge(_ server: PostgreSQLServer, _ merge: (RawPostgreSQL) throws -> Void) throws -> Sample {
    try server.withSchema { schema in
      let connection = try RawPostgreSQL(url: server.url, schema: schema)
      try connection.execute(RawPostgreSQL.table)
      try connection.insertByCopy(people)
      try server.finishBackgroundWork()
      let seconds = try Stopwatch.seconds { try merge(connection) }
      return Sample(amount: seconds, checksum: try connection.fetchWhole().checksum)
    }
  }
}

// MARK: - Memory

extension Workbench {
  /// Measures the memory of a merge, without its input, after it has compared all records and found no difference.
  func mergeMemoryMeasure() -> Measure {
    Measure(
      name: "merge-memory", title: "Memory of an unchanged record in a merge", unit: .bytes, items: people.count,
      item: "record", sides: [Side(name: "Coherence", role: .ours, run: mergeMemory)],
      goals: [.each(of: "Coherence", atMost: 32)])
  }

  private func mergeMemory() throws -> Sample {
    try scratch.with { file in
      let store = try MergeStore(file: file)
      let records = people.map { MergeRecord($0) }
      _ = try store.merge(records)
      // A first read fills the caches of the reading connection.
      _ = try store.merge(records)
      var probed = records
      let probe = MemoryProbe()
      // The merge compares records in the order of their creation, so that it compares this record last.
      probed[probed.count - 1].values["age"] = ProbedAge(age: people[people.count - 1].age, probe: probe)
      let before = benchAllocatedBytes()
      _ = try store.merge(probed)
      try store.close()
      return Sample(amount: Double(probe.bytes) - Double(before))
    }
  }
}
