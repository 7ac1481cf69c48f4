import CBench
import Coherence
import CoherencePostgreSQL
import Foundation
import Synchronization

extension Workbench {
  private static let taskCounts = [1, 4, 16, 64, 256]
  /// The durability of commits and the number of connections decide the measure, so that its title has both.
  private static let placeOfServer =
    "PostgreSQL, synchronous commits, a connection for each task or thread up to 64, 8 connections for 256 tasks"

  /// Measures small units of work by increasing numbers of tasks, in memory.
  func smallUnitsMeasure() -> Measure {
    smallUnitsMeasure("units", "in memory", units: 20_000) { _ in
      try UnitStore(StoreConfiguration(type: .inMemory), at: self.scratch.directory)
    }
  }

  /// The same in SQLite, without the commit's sync.
  func sqliteSmallUnitsMeasure() -> Measure {
    smallUnitsMeasure("sqlite-units", "SQLite, synchronous off", units: 10_000) { _ in
      let file = self.scratch.fresh()
      let options: [String: OptionValue] = [SQLiteOption.synchronous: "off"]
      let configuration = StoreConfiguration(fileName: file.lastPathComponent, type: .sqlite, options: options)
      return try UnitStore(configuration, at: file.deletingLastPathComponent())
    }
  }

  /// The same in PostgreSQL, against threads that send the same statements. Each commit waits for the disk, and the
  /// commits of all connections wait together. So the store may open a connection for each task, as each thread has one.
  /// The greatest number of tasks, without threads beside it, has a pool of the usual size.
  func smallUnitsMeasure(_ server: PostgreSQLServer) -> Measure {
    let units = 5_000
    let counts = Self.taskCounts.dropLast()
    var measure = smallUnitsMeasure("postgresql-units", Self.placeOfServer, units: units) { count in
      var configuration = try StoreConfiguration.postgreSQL(at: server.url, schema: try server.makeSchema())
      // One connection of the pool is reserved for saves.
      if counts.contains(count) { configuration.options[PostgreSQLOption.poolSize] = .int(max(8, count + 1)) }
      return try UnitStore(configuration, at: self.scratch.directory)
    }
    measure.sides += counts.map { count in
      Side(name: "libpq, \(count) threads", role: .raw) { try self.rawUnits(server, units, by: count) }
    }
    measure.goals += counts.map { .between("\($0) tasks", and: "libpq, \($0) threads", atMost: 1.25) }
    return measure
  }

  private func smallUnitsMeasure(
    _ name: String, _ place: String, units: Int, store: @escaping (_ count: Int) throws -> UnitStore
  ) -> Measure {
    Measure(
      name: name, title: "Fetch one, change it and save, each in a context of its own, \(place)", items: units,
      item: "unit",
      sides: Self.taskCounts.map { count in
        Side(name: "\(count) tasks", role: .ours) {
          let store = try store(count)
          // Opens the store's connections and prepares its statements, as the other sides do before the measure.
          _ = try store.run(count * 4, by: count)
          let sample = try store.run(units, by: count)
          try store.remove()
          return sample
        }
      },
      goals: ["16 tasks", "64 tasks", "256 tasks"].map { .between($0, and: "4 tasks", atMost: 1.1) })
  }

  /// Runs the fewest possible statements of a unit, by threads with a connection each.
  private func rawUnits(_ server: PostgreSQLServer, _ units: Int, by count: Int) throws -> Sample {
    try server.withSchema { schema in
      let connections = try (0..<count).map { _ in try RawPostgreSQL(url: server.url, schema: schema) }
      try connections[0].execute(RawPostgreSQL.table)
      try connections[0].insertByCopy(PersonGenerator.people(1_024))
      try connections[0].execute("ALTER TABLE person ADD COLUMN version bigint DEFAULT 1")
      for connection in connections {
        // The durability of the store's connections, whatever the default of the server is.
        try connection.execute(
          "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'")
        try connection.prepare("read", "SELECT \(RawPostgreSQL.columns) FROM person WHERE id = $1")
        try connection.prepare("write", "UPDATE person SET age = $2, version = version + 1 WHERE id = $1")
      }
      let team = RawTeam(connections)
      let seconds = try Stopwatch.seconds { try team.run(units) }
      return Sample(amount: seconds)
    }
  }
}

/// Threads with a connection each.
private final class RawTeam: @unchecked Sendable {
  // Sendable: each thread has its own connection.
  private let connections: [RawPostgreSQL]
  private let failure = Mutex<(any Error)?>(nil)

  init(_ connections: [RawPostgreSQL]) { self.connections = connections }

  func run(_ units: Int) throws {
    let group = DispatchGroup()
    for thread in connections.indices {
      group.enter()
      Thread.detachNewThread { [self] in
        do {
          for unit in stride(from: thread, to: units, by: connections.count) {
            try connections[thread].unit(unit % (1_024 / connections.count) * connections.count + thread + 1, unit)
          }
        } catch {
          failure.withLock { $0 = $0 ?? error }
        }
        group.leave()
      }
    }
    group.wait()
    if let failure = failure.withLock({ $0 }) { throw failure }
  }
}

extension RawPostgreSQL {
  /// Reads a row and writes it, in one transaction.
  fileprivate func unit(_ id: Int, _ age: Int) throws {
    try execute("BEGIN")
    try run("read", ["\(id)"])
    try run("write", ["\(id)", "\(age)"])
    try execute("COMMIT")
  }

  private func run(_ statement: String, _ values: [String]) throws {
    let copies = values.map { strdup($0) }
    defer { for copy in copies { free(copy) } }
    var pointers = copies.map { UnsafePointer($0) }
    let result = PQexecPrepared(handle, statement, Int32(values.count), &pointers, nil, nil, 0)
    defer { PQclear(result) }
    try check(result)
  }
}
