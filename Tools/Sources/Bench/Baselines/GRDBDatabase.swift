import GRDB

/// The work of the measures, with GRDB's records.
struct GRDBDatabase {
  let queue: DatabaseQueue

  init(path: String, synchronous: String = "FULL") throws {
    var configuration = Configuration()
    configuration.journalMode = .wal
    queue = try DatabaseQueue(path: path, configuration: configuration)
    // After opening: GRDB sets NORMAL itself when it switches the journal on.
    try queue.inDatabase { try $0.execute(sql: "PRAGMA synchronous = \(synchronous)") }
  }

  func createTable() throws { try queue.write { try $0.execute(sql: RawSQLite.table) } }

  func insert(_ people: [Person]) throws {
    try queue.write { database in
      for person in people { try person.insert(database) }
    }
  }

  func fetchAll() throws -> [Person] { try queue.read { try Person.fetchAll($0) } }

  /// Reads all rows, one after the other, without keeping the rows.
  func forEach(_ body: (Person) -> Void) throws {
    try queue.read { database in
      let cursor = try Person.fetchCursor(database)
      while let person = try cursor.next() { body(person) }
    }
  }

  /// Reads records by key in one read transaction, with the cached statement that GRDB's guide recommends for loops.
  func fetch(_ ids: [Int64]) throws -> [Person] {
    try queue.read { database in
      let statement = try database.cachedStatement(sql: "SELECT * FROM person WHERE id = ?")
      var people: [Person] = []
      people.reserveCapacity(ids.count)
      for id in ids {
        guard let person = try Person.fetchOne(statement, arguments: [id]) else {
          throw BenchError("There is no person of that key.")
        }
        people.append(person)
      }
      return people
    }
  }

  /// Sets the age of the records, in one transaction.
  func update(_ people: inout [Person], age: Int) throws {
    for index in people.indices { people[index].age = age }
    let changed = people
    try queue.write { database in
      for person in changed { try person.update(database, columns: ["age"]) }
    }
  }

  func pragma(_ name: String) throws -> String {
    try queue.inDatabase { try DatabaseValue.fetchOne($0, sql: "PRAGMA \(name)")?.storage.value.map { "\($0)" } ?? "" }
  }
}
