package import CoherenceCore

/// Rows written to a store and read from it without a context.
extension PersistentStore {
  package func entity(_ name: String) -> EntityDescription { environment.model.entitiesByName[name]! }

  /// Makes a row with values by property name; other properties have their defaults.
  package func row(
    _ entityName: String, _ values: [String: AttributeValue] = [:], key: Int64? = nil, version: Int64 = 1
  ) throws -> Row {
    let entity = entity(entityName)
    var slots = entity.defaultValues
    for (name, value) in values { slots[entity.slot(named: name)] = value }
    let key = try key ?? allocateKeys(1, for: entity.root).lowerBound
    return Row.make(
      id: ManagedObjectID(space: spaces[entity], key: key), entity: entity, version: version, values: slots)
  }

  @discardableResult
  package func insert(_ entityName: String, _ values: [String: AttributeValue] = [:]) throws -> Row {
    let row = try row(entityName, values)
    try save(.insert(row.entity, [row]))
    return row
  }

  package func save(_ steps: SaveStep...) throws { try save(StoreSaveRequest(steps: steps)) }

  package func reading<T>(_ body: (any StoreReader) throws -> T) throws -> T {
    let reader = try makeReader()
    defer { reader.finish() }
    return try body(reader)
  }

  package func fetch(_ query: StoreQuery) throws -> [Row] { try reading { try $0.all(query) } }

  package func fetch(
    _ entityName: String, where predicate: FetchPredicate? = nil, by sortKeys: [SortKey] = []
  ) throws -> [Row] {
    try fetch(StoreQuery(entity: entity(entityName), predicate: predicate, sortKeys: sortKeys))
  }

  /// The stored row of a record; `nil` for a missing record.
  package func current(_ row: Row) throws -> Row? { try reading { try $0.row(row.key, of: row.entity.root) } }
}

extension StoreReader {
  package func all(_ query: StoreQuery) throws -> [Row] {
    let fetch = try fetch(query)
    var rows: [Row] = []
    while try fetch.cursor.next(into: &rows) {}
    return rows
  }
}

extension Row {
  /// A copy with some changed values, at the next version by default.
  package func changed(_ values: [String: AttributeValue], version: Int64? = nil) -> Row {
    var slots = self.values
    for (name, value) in values { slots[entity.slot(named: name)] = value }
    return Row.make(id: id, entity: entity, version: version ?? self.version + 1, values: slots)
  }

  /// The step that writes some values.
  package func update(_ values: [String: AttributeValue], from baseVersion: Int64? = nil) -> SaveStep {
    .update(
      entity, slots: SlotSet(values.keys.map { entity.slot(named: $0) }),
      [RowUpdate(row: changed(values), baseVersion: baseVersion ?? version)])
  }

  package subscript(name: String) -> AttributeValue { self[entity.slot(named: name)] }
}

extension EntityDescription {
  fileprivate func slot(named name: String) -> Int { slots.firstIndex { $0.name == name }! }
}

extension FetchPredicate {
  package static func path(_ path: String, _ comparison: ComparisonOperator, _ value: AttributeValue) -> FetchPredicate
  {
    .comparison(.path(PropertyPath(path)), comparison, .value(value))
  }
}
