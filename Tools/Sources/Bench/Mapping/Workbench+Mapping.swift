import Coherence
import CoherenceMapping
import Foundation

extension Workbench {
  /// Fetches all rows as structures, by a mapping without a record class.
  func mappingFetchMeasure() -> Measure {
    Measure(
      name: "mapping-fetch", title: "Fetch everything as structures and read every property", items: people.count,
      item: "row",
      sides: [
        Side(name: "SQLite C", role: .raw, run: rawStructures), Side(name: "GRDB", role: .grdb, run: grdbStructures),
        Side(name: "Coherence", role: .ours) {
          try self.structures { try $0.fetchModels(Person.mapping) }
        },
        Side(name: "Coherence, by a class of records", role: .ours) {
          try self.structures { try $0.fetchModels(entity: PersonRecord.self) }
        },
      ],
      goals: [.between("Coherence", and: "SQLite C", atMost: 1.5)])
  }

  /// Fetches all rows as structures, by the structure's own decoding for each row.
  func mappingDecodeMeasure() -> Measure {
    Measure(
      name: "mapping-decode", title: "Fetch everything as structures that decode themselves", items: people.count,
      item: "row",
      sides: [
        Side(name: "SQLite C", role: .raw, run: rawStructures),
        Side(name: "Coherence", role: .ours) {
          try self.structures { try $0.fetchModels(Person.decodedMapping) }
        },
      ],
      goals: [])
  }

  /// Saves all structures over their stored rows, one in a hundred with changes. Each run has its own rows.
  func mappingSaveMeasure() -> Measure {
    mappingSave("mapping-save", "Save all structures over a table of them, 1 % changed", changed: changedPeople)
  }

  /// Saves all structures over their stored rows, without a change.
  func idleMappingSaveMeasure() -> Measure {
    mappingSave("mapping-save-idle", "Save all structures over a table of them, none changed", changed: people)
  }

  /// Saves all structures over their stored rows, through a record class.
  func mappingRecordSaveMeasure() -> Measure {
    Measure(
      name: "mapping-record-save", title: "Save all structures through a class of records, 1 % changed",
      items: people.count, item: "record",
      sides: [
        Side(name: "Coherence", role: .ours) {
          try self.save(self.changedPeople) {
            try $0.save(entity: PersonRecord.self, models: self.changedPeople, shouldOverwrite: true)
          }
        }
      ],
      goals: [])
  }

  private func mappingSave(_ name: String, _ title: String, changed: [Person]) -> Measure {
    Measure(
      name: name, title: title, items: people.count, item: "record",
      sides: [
        Side(name: "SQLite C, staging and upsert", role: .raw) {
          try self.rawMerge { try $0.mergeByStaging(changed, joining: false) }
        },
        Side(name: "SQLite C, staging and join", role: .raw) {
          try self.rawMerge { try $0.mergeByStaging(changed, joining: true) }
        },
        Side(name: "Coherence", role: .ours) {
          try self.save(changed) { try $0.save(Person.mapping, models: changed, shouldOverwrite: true) }
        },
      ],
      goals: [.ratio(to: .raw, atMost: 1.5)])
  }

  // MARK: Fetching

  private func rawStructures() throws -> Sample {
    let connection = try RawSQLite(path: rawFile().path)
    return try Stopwatch.sample {
      let people = try connection.fetchAll()
      return (people.checksum, people)
    }
  }

  private func grdbStructures() throws -> Sample {
    let database = try GRDBDatabase(path: rawFile().path)
    return try Stopwatch.sample {
      let people = try database.fetchAll()
      return (people.checksum, people)
    }
  }

  private func structures(_ fetch: (PersistenceManager) throws -> [Person]) throws -> Sample {
    let store = try PersonStore(file: personLibrary())
    let sample = try Stopwatch.sample {
      let people = try fetch(store.manager)
      return (people.checksum, people)
    }
    try store.close()
    return sample
  }

  // MARK: Saving

  private func save(_ changed: [Person], _ save: (PersistenceManager) throws -> SaveResult) throws -> Sample {
    try scratch.with(copyOf: personLibrary()) { file in
      let store = try PersonStore(file: file)
      return try Self.timed(store, people, changed, save)
    }
  }

  fileprivate static func timed(
    _ store: PersonStore, _ people: [Person], _ changed: [Person], _ save: (PersistenceManager) throws -> SaveResult
  ) throws -> Sample {
    var result = SaveResult()
    let seconds = try Stopwatch.seconds { result = try save(store.manager) }
    let expected = zip(changed, people).count { $0.age != $1.age }
    guard result.updated == expected, result.unchanged == people.count - expected, result.inserted == 0 else {
      throw BenchError("The save wrote \(result.updated) records where \(expected) differ.")
    }
    return Sample(amount: seconds, checksum: try store.readBack())
  }
}

// MARK: - PostgreSQL

extension Workbench {
  /// Fetches all rows as structures from PostgreSQL.
  func mappingFetchMeasure(_ server: PostgreSQLServer) -> Measure {
    Measure(
      name: "postgresql-mapping-fetch", title: "PostgreSQL: fetch everything as structures and read every property",
      items: people.count, item: "row",
      sides: [
        Side(name: "libpq, COPY", role: .raw) { try self.rawStructures(server) { try $0.fetchByCopy() } },
        Side(name: "libpq, whole result", role: .raw) { try self.rawStructures(server) { try $0.fetchWhole() } },
        Side(name: "Coherence", role: .ours) {
          let store = try PersonStore(url: server.url, schema: server.personSchema(self.people))
          let sample = try Stopwatch.sample {
            let people = try store.manager.fetchModels(Person.mapping)
            return (people.checksum, people)
          }
          try store.close()
          return sample
        },
      ],
      goals: [.ratio(to: .raw, atMost: 1.5)])
  }

  /// Saves all structures over their stored rows in PostgreSQL, one in a hundred with changes.
  func mappingSaveMeasure(_ server: PostgreSQLServer) -> Measure {
    let changed = changedPeople
    return Measure(
      name: "postgresql-mapping-save", title: "PostgreSQL: save all structures over a table of them, 1 % changed",
      items: people.count, item: "record",
      sides: [
        Side(name: "libpq, staging and join", role: .raw) {
          try self.rawMerge(server) { try $0.mergeByStaging(changed, joining: true) }
        },
        Side(name: "Coherence", role: .ours) {
          try server.withSchema { schema in
            let store = try PersonStore(url: server.url, schema: schema)
            try store.insert(self.people)
            try server.finishBackgroundWork()
            return try Self.timed(store, self.people, changed) {
              try $0.save(Person.mapping, models: changed, shouldOverwrite: true)
            }
          }
        },
      ],
      goals: [.ratio(to: .raw, atMost: 1.5)])
  }

  private func rawStructures(
    _ server: PostgreSQLServer, _ fetch: (RawPostgreSQL) throws -> [Person]
  ) throws -> Sample {
    let connection = try RawPostgreSQL(url: server.url, schema: server.rawSchema(people))
    return try Stopwatch.sample {
      let people = try fetch(connection)
      return (people.checksum, people)
    }
  }
}
