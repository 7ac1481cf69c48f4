import CoherenceCore
import CoherenceSQLite
import Foundation

/// A directory for the files of one test, removed with the value's owner.
final class TemporaryStore {
  let directory: URL
  var url: URL { directory.appendingPathComponent("test.sqlite") }
  var path: String { url.path(percentEncoded: false) }

  init() throws {
    directory = FileManager.default.temporaryDirectory.appendingPathComponent("coherence-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: directory) }

  func environment(
    _ model: ManagedObjectModel, configuration: String? = nil, options: [String: OptionValue] = [:]
  ) -> StoreEnvironment {
    StoreEnvironment(type: .sqlite, url: url, configurationName: configuration, model: model, options: options)
  }

  func open(_ model: ManagedObjectModel, options: [String: OptionValue] = [:]) throws -> any PersistentStore {
    try SQLiteStoreFactory().open(environment(model, options: options))
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
    for (name, value) in values {
      slots[entity.slots.firstIndex { $0.name == name }!] = value
    }
    let key = try key ?? allocateKeys(1, for: entity.root).lowerBound
    return Row.make(
      id: ManagedObjectID(space: spaces[entity], key: key), entity: entity, version: version, values: slots)
  }

  @discardableResult
  func insert(_ entityName: String, _ values: [String: AttributeValue] = [:]) throws -> Row {
    let row = try row(entityName, values)
    try save(StoreSaveRequest(steps: [.insert(row.entity, [row])]))
    return row
  }

  func reading<T>(_ body: (any StoreReader) throws -> T) throws -> T {
    let reader = try makeReader()
    defer { reader.finish() }
    return try body(reader)
  }

  func fetch(_ query: StoreQuery) throws -> [Row] {
    try reading { reader in
      let fetch = try reader.fetch(query)
      var rows: [Row] = []
      while try fetch.cursor.next(into: &rows) {}
      return rows
    }
  }

  func fetch(_ entityName: String, where predicate: FetchPredicate? = nil, by sortKeys: [SortKey] = []) throws -> [Row]
  {
    try fetch(StoreQuery(entity: entity(entityName), predicate: predicate, sortKeys: sortKeys))
  }

  func current(_ row: Row) throws -> Row? { try reading { try $0.row(row.key, of: row.entity.root) } }
}

extension Row {
  /// A copy at a later version, with some values changed.
  func changed(_ values: [String: AttributeValue], version: Int64? = nil) -> Row {
    var slots = self.values
    for (name, value) in values { slots[entity.slots.firstIndex { $0.name == name }!] = value }
    return Row.make(id: id, entity: entity, version: version ?? self.version + 1, values: slots)
  }

  subscript(name: String) -> AttributeValue { self[entity.slots.firstIndex { $0.name == name }!] }
}

extension FetchPredicate {
  static func path(_ path: String, _ comparison: ComparisonOperator, _ value: AttributeValue) -> FetchPredicate {
    .comparison(.path(PropertyPath(path)), comparison, .value(value))
  }
}
