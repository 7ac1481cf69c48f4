import Coherence

extension Workbench {
  /// Fetches all rows from PostgreSQL, compared with the faster method of libpq.
  func postgreSQLFetchMeasure(_ server: PostgreSQLServer) -> Measure {
    Measure(
      name: "postgresql-fetch", title: "PostgreSQL: fetch everything and read every attribute", items: people.count,
      item: "row",
      sides: [
        Side(name: "libpq, single rows", role: .raw) { try self.rawFetch(server) { try $0.fetchSingleRows() } },
        Side(name: "libpq, whole result", role: .raw) { try self.rawFetch(server) { try $0.fetchWhole() } },
        Side(name: "libpq, COPY", role: .raw) { try self.rawFetch(server) { try $0.fetchByCopy() } },
        Side(name: "Coherence", role: .ours) { try self.objectFetch(server) },
      ],
      goals: [.ratio(to: .raw, atMost: 1.6)])
  }

  /// Inserts all rows as new records into PostgreSQL, compared with the faster method of libpq.
  func postgreSQLInsertMeasure(_ server: PostgreSQLServer) -> Measure {
    Measure(
      name: "postgresql-insert", title: "PostgreSQL: insert and save new objects", items: people.count, item: "row",
      sides: [
        Side(name: "libpq, COPY", role: .raw) { try self.rawInsert(server) { try $0.insertByCopy(self.people) } },
        Side(name: "libpq, pipeline", role: .raw) {
          try self.rawInsert(server) { try $0.insertPipelined(self.people) }
        },
        Side(name: "Coherence", role: .ours) { try self.objectInsert(server) },
      ],
      goals: [.ratio(to: .raw, atMost: 1.6)])
  }

  private func rawFetch(_ server: PostgreSQLServer, _ fetch: (RawPostgreSQL) throws -> [Person]) throws -> Sample {
    let connection = try RawPostgreSQL(url: server.url, schema: server.rawSchema(people))
    return try Stopwatch.sample {
      let people = try fetch(connection)
      return (people.checksum, people)
    }
  }

  private func objectFetch(_ server: PostgreSQLServer) throws -> Sample {
    try ObjectStore.once(ObjectStore(url: server.url, schema: server.objectSchema(people))) { context in
      try Stopwatch.sample {
        let people = try context.fetchPeople()
        return (people.checksum, people)
      }
    }
  }

  private func rawInsert(_ server: PostgreSQLServer, _ insert: (RawPostgreSQL) throws -> Void) throws -> Sample {
    try server.withSchema { schema in
      let connection = try RawPostgreSQL(url: server.url, schema: schema)
      try connection.execute(RawPostgreSQL.table)
      let seconds = try Stopwatch.seconds { try insert(connection) }
      return Sample(amount: seconds, checksum: try connection.fetchWhole().checksum)
    }
  }

  private func objectInsert(_ server: PostgreSQLServer) throws -> Sample {
    try server.withSchema { schema in
      let store = try ObjectStore(url: server.url, schema: schema)
      let context = store.makeContext()
      let sample = try context.performAndWait {
        try Stopwatch.sample { (0, try context.insert(people)) }
      }
      return Sample(amount: sample.amount, checksum: try store.readBack())
    }
  }
}
