import CoherenceCore
import HashTreeCollections

/// The whole content of an in-memory store, as one value.
///
/// All large parts are persistent trees: a copy costs nothing and shares its unchanged parts. A reader's snapshot is
/// such a copy, and so is the state that a save builds. The indexes ``referrers``, ``holders`` and ``keysByValue``
/// agree with the rows when a transaction is finished; between its steps they do not.
struct InMemoryState: Sendable {
  /// The rows of a hierarchy by key.
  typealias Table = TreeDictionary<Int64, Row>

  let schema: InMemorySchema
  var userInfo: [String: String] = [:]
  /// The rows of each hierarchy, by root and key.
  private(set) var tables: [ObjectIdentifier: Table]
  /// The records that refer to a record: for each to-one relationship, the keys of the sources by the target's key.
  private(set) var referrers: [RelationshipDescription: TreeDictionary<Int64, TreeSet<Int64>>] = [:]
  /// The key of the record with given unique values, for each uniqueness constraint by its number.
  private(set) var holders: [TreeDictionary<[AttributeValue], Int64>]
  /// The keys of the records with a given value, for each lookup index by its number. Missing values are not indexed.
  private(set) var keysByValue: [TreeDictionary<AttributeValue, TreeSet<Int64>>]
  /// The links between records, by link table.
  private(set) var links: [LinkTable: InMemoryLinks]

  init(_ schema: InMemorySchema) {
    self.schema = schema
    tables = Dictionary(uniqueKeysWithValues: schema.roots.map { (ObjectIdentifier($0), [:]) })
    holders = Array(repeating: [:], count: schema.constraintCount)
    keysByValue = Array(repeating: [:], count: schema.lookupCount)
    links = Dictionary(uniqueKeysWithValues: schema.linkTables.map { ($0, InMemoryLinks()) })
  }

  /// The rows of an entity's hierarchy.
  ///
  /// - Throws: ``ErrorCode/noStore`` when the store was opened without the entity.
  func table(of entity: EntityDescription) throws -> Table {
    guard let table = tables[ObjectIdentifier(entity.root)] else { throw Self.notHeld(entity.name) }
    return table
  }

  /// The row of a record; `nil` for none.
  func row(_ key: Int64, of root: EntityDescription) -> Row? { tables[ObjectIdentifier(root)]?[key] }

  /// The links of a table.
  ///
  /// - Throws: ``ErrorCode/noStore`` when the store was opened without the entities on both sides.
  func links(of table: LinkTable) throws -> InMemoryLinks {
    guard let links = links[table] else { throw Self.notHeld(table.name) }
    return links
  }

  /// The keys of the records that refer to a record by a to-one relationship.
  func referrers(to key: Int64, by relationship: RelationshipDescription) -> TreeSet<Int64> {
    referrers[relationship]?[key] ?? []
  }

  /// Throws ``ErrorCode/noStore`` when the store was opened without an entity.
  func checkHolds(_ entity: EntityDescription) throws { _ = try table(of: entity) }

  /// Throws ``ErrorCode/noStore`` when the store was opened without the entities on both sides of a link table.
  func checkHolds(_ table: LinkTable) throws { _ = try links(of: table) }

  /// The error for an entity or a link table that the store was opened without.
  static func notHeld(_ name: String) -> CoherenceError {
    CoherenceError(.noStore, "This in-memory store does not hold '\(name)'; attach it with a configuration that does.")
  }
}

// MARK: - Changing

extension InMemoryState {
  /// Sets the row of a key, or removes it for `nil`. The transaction writes the row's index entries at its end.
  mutating func setRow(_ row: Row?, key: Int64, of root: EntityDescription) {
    tables[ObjectIdentifier(root)]?[key] = row
  }

  /// Adds links to a table, or gives other positions to existing ones.
  mutating func insert(_ added: [Link], into table: LinkTable) {
    for link in added { links[table]?.insert(link) }
  }

  /// Removes the links with the same ends from a table.
  mutating func remove(_ removed: [Link], from table: LinkTable) {
    for link in removed { links[table]?.remove(source: link.source, target: link.target) }
  }

  /// Adds the index entry for a reference of a record.
  mutating func insertReference(_ relationship: RelationshipDescription, from source: Int64, to target: Int64) {
    referrers[relationship, default: [:]][target, default: []].insert(source)
  }

  /// Removes the index entry for a reference of a record.
  mutating func removeReference(_ relationship: RelationshipDescription, from source: Int64, to target: Int64) {
    referrers[relationship]?[target]?.remove(source)
    if referrers[relationship]?[target]?.isEmpty == true { referrers[relationship]?[target] = nil }
  }

  /// Adds the index entry for a value of a lookup's attribute.
  mutating func insertLookup(_ lookup: InMemorySchema.Lookup, of key: Int64, _ value: AttributeValue) {
    keysByValue[lookup.number][value, default: []].insert(key)
  }

  /// Removes the index entry for a value of a lookup's attribute.
  mutating func removeLookup(_ lookup: InMemorySchema.Lookup, of key: Int64, _ value: AttributeValue) {
    keysByValue[lookup.number][value]?.remove(key)
    if keysByValue[lookup.number][value]?.isEmpty == true { keysByValue[lookup.number][value] = nil }
  }

  /// Sets or removes the key of the record with the given values under a uniqueness constraint.
  ///
  /// - Returns: The key of the former record with the values.
  @discardableResult
  mutating func setHolder(_ key: Int64?, of values: [AttributeValue], under constraint: InMemorySchema.Constraint)
    -> Int64?
  {
    guard let key else { return holders[constraint.number].removeValue(forKey: values) }
    return holders[constraint.number].updateValue(key, forKey: values)
  }
}
