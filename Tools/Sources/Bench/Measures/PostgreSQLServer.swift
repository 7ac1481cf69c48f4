import Foundation

/// The server of the PostgreSQL measures, and the schemas that a run makes there.
final class PostgreSQLServer {
  let url: String
  private let administration: RawPostgreSQL
  private let prefix = "coherence_bench_\(ProcessInfo.processInfo.processIdentifier)"
  private var schemas: [String] = []
  private var rawLibrary: String?
  private var objectLibrary: String?
  private var personLibrary: String?

  init(url: String) throws {
    self.url = url
    administration = try RawPostgreSQL(url: url)
  }

  /// The location of a database.
  static func location(of url: String) throws -> URL {
    guard let location = URL(string: url) else { throw BenchError("--postgres takes a URL, postgresql://…") }
    return location
  }

  deinit { for schema in schemas { drop(schema) } }

  var version: String { get throws { try administration.text("SHOW server_version") } }

  func setting(_ name: String) throws -> String { try administration.text("SHOW \(name)") }

  /// Makes an empty schema.
  func makeSchema() throws -> String {
    let schema = "\(prefix)_\(schemas.count + 1)"
    try administration.execute("CREATE SCHEMA \(schema)")
    schemas.append(schema)
    return schema
  }

  /// Runs the body with an empty schema, and drops it afterwards.
  func withSchema<T>(_ body: (String) throws -> T) throws -> T {
    let schema = try makeSchema()
    defer { drop(schema) }
    return try body(schema)
  }

  private func drop(_ schema: String) { try? administration.execute("DROP SCHEMA IF EXISTS \(schema) CASCADE") }

  /// A schema with all rows in a plain table.
  func rawSchema(_ people: [Person]) throws -> String {
    if let rawLibrary { return rawLibrary }
    let schema = try makeSchema()
    let connection = try RawPostgreSQL(url: url, schema: schema)
    try connection.execute(RawPostgreSQL.table)
    try connection.insertByCopy(people)
    try finishBackgroundWork()
    rawLibrary = schema
    return schema
  }

  /// A schema with all rows in a Coherence store.
  func objectSchema(_ people: [Person]) throws -> String {
    if let objectLibrary { return objectLibrary }
    let schema = try makeSchema()
    try ObjectStore.once(ObjectStore(url: url, schema: schema)) { _ = try $0.insert(people) }
    try finishBackgroundWork()
    objectLibrary = schema
    return schema
  }

  /// A schema with all rows in a Coherence store, written through a mapping.
  func personSchema(_ people: [Person]) throws -> String {
    if let personLibrary { return personLibrary }
    let schema = try makeSchema()
    let store = try PersonStore(url: url, schema: schema)
    try store.insert(people)
    try store.close()
    try finishBackgroundWork()
    personLibrary = schema
    return schema
  }

  /// Makes the server do its pending background work now, so that the work does not disturb later measurements.
  func finishBackgroundWork() throws {
    try administration.execute("VACUUM ANALYZE")
    try administration.execute("CHECKPOINT")
  }
}
