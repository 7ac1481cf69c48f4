import CoherenceCore
@testable import CoherencePostgreSQL
import CoherenceSQL
import Foundation
import Logging
import Synchronization
import Testing

/// The server that the tests use, named by the environment.
enum TestServer {
  static let variable = "COHERENCE_POSTGRESQL_URL"
  static let location = ProcessInfo.processInfo.environment[variable].flatMap(URL.init(string:))
  static var isAvailable: Bool { location != nil }
}

extension Trait where Self == ConditionTrait {
  /// Skips tests that need a server if no server is configured.
  static var needsServer: Self {
    .enabled(if: TestServer.isAvailable, "Set \(TestServer.variable); `Tools/postgres start DIR` prints a URL.")
  }
}

/// A schema of its own for one test, dropped with the value's owner.
final class TemporarySchema: Sendable {
  let url: URL
  let name: String

  private static let count = Atomic<Int>(0)

  init() throws {
    url = try #require(TestServer.location)
    let number = Self.count.add(1, ordering: .relaxed).newValue
    name = "coherence_test_\(ProcessInfo.processInfo.processIdentifier)_\(number)"
  }

  deinit {
    _ = try? administration().run("DROP SCHEMA IF EXISTS \(name: name) CASCADE", isKept: false)
  }

  /// A connection to look at the database without the store.
  func administration() throws -> PostgreSQLConnection {
    try PostgreSQLConnection.connect(PostgreSQLOptions(environment(emptyModel)), logger: Logger(label: "test"))
  }

  private var emptyModel: ManagedObjectModel {
    get throws { try ManagedObjectModel { Entity("Nothing") { Attribute("name", .string) } } }
  }

  func environment(
    _ model: ManagedObjectModel, url: URL? = nil, options: [String: OptionValue] = [:]
  ) -> StoreEnvironment {
    StoreEnvironment(
      type: .postgreSQL, url: url ?? self.url, model: model,
      options: [PostgreSQLOption.schema: .string(name)].merging(options) { $1 })
  }

  func open(_ model: ManagedObjectModel, url: URL? = nil, options: [String: OptionValue] = [:]) throws
    -> any PersistentStore
  {
    try PostgreSQLStoreFactory().open(environment(model, url: url, options: options))
  }
}

extension TemporarySchema {
  /// The server's URL with some parameters changed.
  func url(with changes: [String: String]) throws -> URL {
    var parts = try #require(URLComponents(url: url, resolvingAgainstBaseURL: false))
    let items = (parts.queryItems ?? []).filter { changes[$0.name] == nil }
    parts.queryItems = items + changes.map { URLQueryItem(name: $0.key, value: $0.value) }
    return try #require(parts.url)
  }

  /// Opens a store with an application name, so that its connections can be found.
  func openNamed(_ model: ManagedObjectModel) throws -> any PersistentStore {
    try open(model, url: url(with: ["application_name": name]))
  }

  /// Terminates the named connections and waits until they have ended.
  func terminateConnections() throws {
    try administration().run(
      """
      SELECT pg_catalog.pg_terminate_backend(pid, 5000) FROM pg_catalog.pg_stat_activity \
      WHERE application_name = \(text: name)
      """, isKept: false)
  }
}

extension PersistentStore {
  func entity(_ name: String) -> EntityDescription { environment.model.entitiesByName[name]! }

  /// A new row with the given values by property name, and defaults for the other properties.
  func row(_ entityName: String, _ values: [String: AttributeValue] = [:], key: Int64? = nil, version: Int64 = 1) throws
    -> Row
  {
    let entity = entity(entityName)
    var slots = entity.defaultValues
    for (name, value) in values { slots[entity.slots.firstIndex { $0.name == name }!] = value }
    let key = try key ?? allocateKeys(1, for: entity.root).lowerBound
    return Row.make(
      id: ManagedObjectID(space: spaces[entity], key: key), entity: entity, version: version, values: slots)
  }

  @discardableResult
  func insert(_ entityName: String, _ values: [String: AttributeValue] = [:]) throws -> Row {
    let row = try row(entityName, values)
    try save(.insert(row.entity, [row]))
    return row
  }

  func save(_ steps: SaveStep...) throws { try save(StoreSaveRequest(steps: steps)) }

  func reading<T>(_ body: (any StoreReader) throws -> T) throws -> T {
    let reader = try makeReader()
    defer { reader.finish() }
    return try body(reader)
  }

  func fetch(_ entityName: String, where predicate: FetchPredicate? = nil, by sortKeys: [SortKey] = []) throws -> [Row]
  {
    try reading { try $0.all(StoreQuery(entity: entity(entityName), predicate: predicate, sortKeys: sortKeys)) }
  }

  func current(_ row: Row) throws -> Row? { try reading { try $0.row(row.key, of: row.entity.root) } }
}

extension StoreReader {
  func all(_ query: StoreQuery) throws -> [Row] {
    let fetch = try fetch(query)
    var rows: [Row] = []
    while try fetch.cursor.next(into: &rows) {}
    return rows
  }
}

extension Row {
  /// A copy at a later version, with some values changed.
  func changed(_ values: [String: AttributeValue], version: Int64? = nil) -> Row {
    var slots = self.values
    for (name, value) in values { slots[entity.slots.firstIndex { $0.name == name }!] = value }
    return Row.make(id: id, entity: entity, version: version ?? self.version + 1, values: slots)
  }

  /// The step that writes some values.
  func update(_ values: [String: AttributeValue], from baseVersion: Int64? = nil) -> SaveStep {
    .update(
      entity, slots: SlotSet(values.keys.map { name in entity.slots.firstIndex { $0.name == name }! }),
      [RowUpdate(row: changed(values), baseVersion: baseVersion ?? version)])
  }

  subscript(name: String) -> AttributeValue { self[entity.slots.firstIndex { $0.name == name }!] }
}

extension FetchPredicate {
  static func path(_ path: String, _ comparison: ComparisonOperator, _ value: AttributeValue) -> FetchPredicate {
    .comparison(.path(PropertyPath(path)), comparison, .value(value))
  }
}
