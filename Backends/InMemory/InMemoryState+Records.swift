import CoherenceCore
import HashTreeCollections

/// The evaluator of predicates reads the state's rows.
extension InMemoryState: RecordSource {
  func id(of record: Row) -> ManagedObjectID { record.id }

  func entity(of record: Row) -> EntityDescription { record.entity }

  func value(_ slot: Int, of record: Row) -> AttributeValue { record[slot] }

  func target(of relationship: RelationshipDescription, from record: Row) -> Row? {
    // Sibling entities use the same slot for different properties.
    guard record.entity.isKind(of: relationship.entity), let slot = relationship.slot,
      case .reference(let id) = record[slot]
    else { return nil }
    return row(id.key, of: relationship.destination.root)
  }

  func members(of relationship: RelationshipDescription, from record: Row) -> [Row] {
    let root = relationship.destination.root
    switch relationship.storage {
    case .column:
      return target(of: relationship, from: record).map { [$0] } ?? []
    case .inverseColumn(let inverse, _):
      return referrers(to: record.key, by: inverse).compactMap { row($0, of: root) }
    case .links(let table, isForward: true):
      return links[table]?.targets(of: record.key).compactMap { row($0, of: root) } ?? []
    case .links(let table, isForward: false):
      return links[table]?.sources(of: record.key).compactMap { row($0, of: root) } ?? []
    }
  }

  /// The number of members of a relationship. The members of a to-many relationship are counted without a look at their
  /// rows: a save leaves no dangling link, and the index of references has no removed record as a source. The target of
  /// a to-one relationship may be missing.
  func memberCount(of relationship: RelationshipDescription, from record: Row) -> Int {
    if case .column = relationship.storage { return target(of: relationship, from: record) == nil ? 0 : 1 }
    return memberCount(of: relationship, owner: record.key)
  }

  /// The number of members of a to-many relationship.
  func memberCount(of relationship: RelationshipDescription, owner: Int64) -> Int {
    switch relationship.storage {
    case .column: 0
    case .inverseColumn(let inverse, _): referrers(to: owner, by: inverse).count
    case .links(let table, let isForward):
      (isForward ? links[table]?.targetCount(of: owner) : links[table]?.sources(of: owner).count) ?? 0
    }
  }
}
