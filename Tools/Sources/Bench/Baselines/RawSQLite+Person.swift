import Foundation
import GRDBSQLite

/// The work of the measures, written directly with SQLite's C API.
extension RawSQLite {
  static let table = """
    CREATE TABLE person (
      id INTEGER PRIMARY KEY, uuid TEXT, firstName TEXT, middleName TEXT, lastName TEXT, email TEXT, age INTEGER,
      score REAL, created INTEGER, isActive INTEGER, notes TEXT)
    """
  static let columns = "id, uuid, firstName, middleName, lastName, email, age, score, created, isActive, notes"

  func insert(_ people: [Person]) throws {
    let statement = try prepare("INSERT INTO person (\(Self.columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
    try transaction {
      for person in people { try statement.insert(person) }
    }
  }

  func fetchAll() throws -> [Person] {
    let statement = try prepare("SELECT \(Self.columns) FROM person")
    var people: [Person] = []
    while try statement.step() { people.append(statement.person()) }
    return people
  }

  /// Reads all rows, one after the other, without keeping the rows.
  func forEach(_ body: (Person) -> Void) throws {
    let statement = try prepare("SELECT \(Self.columns) FROM person")
    while try statement.step() { body(statement.person()) }
  }

  /// Reads records by key in one read transaction.
  func fetch(_ ids: [Int64]) throws -> [Person] {
    let statement = try prepare("SELECT \(Self.columns) FROM person WHERE id = ?")
    var people: [Person] = []
    people.reserveCapacity(ids.count)
    return try transaction("DEFERRED") {
      for id in ids {
        statement.bind(id, at: 1)
        guard try statement.step() else { throw BenchError("There is no person of that key.") }
        people.append(statement.person())
        statement.reset()
      }
      return people
    }
  }

  /// Sets the age of the records, in one transaction.
  func update(_ ids: [Int64], age: Int, with statement: RawStatement) throws {
    try transaction {
      for id in ids {
        statement.bind(Int64(age), at: 1)
        statement.bind(id, at: 2)
        _ = try statement.step()
        statement.reset()
      }
    }
  }

  func prepareUpdate() throws -> RawStatement { try prepare("UPDATE person SET age = ? WHERE id = ?") }
}

extension RawStatement {
  @inline(__always) func person() -> Person {
    Person(
      id: sqlite3_column_int64(handle, 0), uuid: text(1), firstName: text(2), middleName: text(3), lastName: text(4),
      email: text(5), age: Int(sqlite3_column_int64(handle, 6)), score: sqlite3_column_double(handle, 7),
      created: Date(microseconds: sqlite3_column_int64(handle, 8)), isActive: sqlite3_column_int64(handle, 9) != 0,
      notes: sqlite3_column_type(handle, 10) == SQLITE_NULL ? nil : text(10))
  }

  @inline(__always) func insert(_ person: Person) throws {
    bind(person.id, at: 1)
    bind(Int64(person.age), at: 7)
    sqlite3_bind_double(handle, 8, person.score)
    bind(person.created.microseconds, at: 9)
    bind(person.isActive ? 1 : 0, at: 10)
    try withTexts(of: person) { _ = try step() }
    reset()
  }

  /// Binds the texts without a copy, because the closure steps the statement while the texts are valid.
  @inline(__always) private func withTexts(of person: Person, _ body: () throws -> Void) throws {
    try withText(person.uuid, at: 2) {
      try withText(person.firstName, at: 3) {
        try withText(person.middleName, at: 4) {
          try withText(person.lastName, at: 5) {
            try withText(person.email, at: 6) {
              guard let notes = person.notes else {
                sqlite3_bind_null(handle, 11)
                return try body()
              }
              try withText(notes, at: 11, body)
            }
          }
        }
      }
    }
  }

  @inline(__always) private func withText(_ text: String, at index: Int32, _ body: () throws -> Void) throws {
    var text = text
    try text.withUTF8 { bytes in
      // A `nil` destructor is SQLITE_STATIC.
      bytes.withMemoryRebound(to: CChar.self) {
        _ = sqlite3_bind_text(handle, index, $0.baseAddress, Int32($0.count), nil)
      }
      try body()
    }
  }
}
