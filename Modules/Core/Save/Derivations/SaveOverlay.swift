/// The records of a store as a save will leave them: the records that a reader sees, with the changes of the save on
/// top.
final class SaveOverlay: DerivationSource {
  private let reader: any StoreReader
  private let spaces: IDSpaces
  private let links: LinkChanges
  /// The rows that the save writes; `nil` for deleted records.
  private var changed: [ManagedObjectID: Row?] = [:]
  /// The rows read so far; `nil` for missing records.
  private var readRows: [ManagedObjectID: Row?] = [:]
  /// The records read at the end of a path or a link that the save does not write, by identifier.
  private var sourcesByID: [ManagedObjectID: Row] = [:]
  /// The members of owners, by relationship, read at once for all owners of an update.
  private var members: [RelationshipDescription: [Int64: [Row]]] = [:]

  init(of changes: RowChanges, over reader: any StoreReader, in spaces: IDSpaces) {
    self.reader = reader
    self.spaces = spaces
    links = changes.links
    for row in changes.inserts.lazy.flatMap(\.rows) { changed[row.id] = row }
    for update in changes.updates.lazy.flatMap(\.updates) { changed[update.row.id] = update.row }
    for delete in changes.deletes.lazy.flatMap(\.deletes) { changed.updateValue(nil, forKey: delete.id) }
  }

  /// The records on which the computed values depend and that the save does not write. The save writes them with the
  /// next version, see ``DerivationComputation``.
  var sources: [Row] { sourcesByID.values.sorted { $0.key < $1.key } }

  /// Reads the members of owners with one query for each relationship.
  func prepareMembers(of owners: [Row], for update: DerivationUpdate) throws {
    for derivation in update.derivations {
      guard case .inverseColumn(let inverse, _)? = derivation.relationships.first?.storage else { continue }
      let rows = try referrers(to: Set(owners.map(\.key)), by: inverse)
      members[derivation.relationships[0]] = Dictionary(grouping: rows) { row in
        guard let slot = inverse.slot, case .reference(let owner) = row[slot] else { return 0 }
        return owner.key
      }
    }
  }

  // MARK: DerivationSource

  func record(_ key: Int64, of root: EntityDescription) throws -> Row? {
    try row(ManagedObjectID(space: spaces[root], key: key), of: root)
  }

  func referrers(to keys: Set<Int64>, by relationship: RelationshipDescription) throws -> [Row] {
    guard let slot = relationship.slot else { return [] }
    func refers(_ row: Row) -> Bool {
      guard row.entity.isKind(of: relationship.entity), case .reference(let target) = row[slot] else { return false }
      return keys.contains(target.key)
    }
    var found = changed.values.compactMap(\.self).filter(refers)
    let space = spaces[relationship.destination]
    let targets = keys.sorted().map { AttributeValue.reference(ManagedObjectID(space: space, key: $0)) }
    for start in stride(from: 0, to: targets.count, by: Self.keysOfOneRead) {
      let targetsOfQuery = Array(targets[start..<min(start + Self.keysOfOneRead, targets.count)])
      let query = StoreQuery(
        entity: relationship.entity,
        predicate: .membership(.path(PropertyPath(names: [relationship.name])), in: targetsOfQuery))
      let cursor = try reader.fetch(query).cursor
      var rows: [Row] = []
      while try cursor.next(into: &rows) {}
      for row in rows where changed[row.id] == nil && refers(row) { found.append(row) }
    }
    return found
  }

  /// The greatest number of keys in one query.
  private static let keysOfOneRead = 4_096

  func owners(of members: Set<Int64>, by relationship: RelationshipDescription) throws -> Set<Int64> {
    switch relationship.storage {
    case .column: return []
    case .inverseColumn(let inverse, _):
      return Set(
        try members.compactMap { key in
          guard let slot = inverse.slot,
            case .reference(let owner)? = try record(key, of: relationship.destination)?[slot]
          else { return nil }
          return owner.key
        })
    case .links(let table, let isForward):
      let links = try linkEnds(in: table, of: members, fromSource: !isForward)
      return Set(links.map { isForward ? $0.source : $0.target })
    }
  }

  /// The links of records as the save will leave them.
  private func linkEnds(in table: LinkTable, of keys: Set<Int64>, fromSource: Bool) throws -> Set<LinkChanges.LinkEnds>
  {
    var ends = Set(
      try reader.links(table, of: keys.sorted(), fromSource: fromSource).map {
        LinkChanges.LinkEnds(source: $0.source, target: $0.target)
      })
    ends.subtract(links.removed[table] ?? [])
    for end in links.added[table, default: [:]].keys where keys.contains(fromSource ? end.source : end.target) {
      ends.insert(end)
    }
    return ends
  }

  // MARK: RecordSource

  func id(of record: Row) -> ManagedObjectID { record.id }
  func entity(of record: Row) -> EntityDescription { record.entity }
  func value(_ slot: Int, of record: Row) -> AttributeValue { record[slot] }

  func target(of relationship: RelationshipDescription, from record: Row) throws -> Row? {
    guard record.entity.isKind(of: relationship.entity), let slot = relationship.slot,
      case .reference(let id) = record[slot]
    else { return nil }
    return notingSource(try row(id, of: relationship.destination))
  }

  func members(of relationship: RelationshipDescription, from record: Row) throws -> [Row] {
    if let prepared = members[relationship] { return prepared[record.key] ?? [] }
    guard case .links(_, let isForward) = relationship.storage else { return [] }
    let keys = try memberKeys(of: relationship, from: record, isForward)
    return try keys.sorted().compactMap { notingSource(try self.record($0, of: relationship.destination)) }
  }

  func memberCount(of relationship: RelationshipDescription, from record: Row) throws -> Int {
    if let prepared = members[relationship] { return prepared[record.key]?.count ?? 0 }
    guard case .links(_, let isForward) = relationship.storage else { return 0 }
    return try memberKeys(of: relationship, from: record, isForward).count
  }

  private func memberKeys(
    of relationship: RelationshipDescription, from record: Row, _ isForward: Bool
  ) throws -> [Int64] {
    guard case .links(let table, _) = relationship.storage else { return [] }
    return try linkEnds(in: table, of: [record.key], fromSource: isForward).map { isForward ? $0.target : $0.source }
  }

  private func row(_ id: ManagedObjectID, of root: EntityDescription) throws -> Row? {
    if let row = changed[id] ?? readRows[id] { return row }
    let row = try reader.row(id.key, of: root.root)
    readRows.updateValue(row, forKey: id)
    return row
  }

  /// Notes that a computed value depends on a row, if the save does not write the row.
  private func notingSource(_ row: Row?) -> Row? {
    if let row, changed[row.id] == nil { sourcesByID[row.id] = row }
    return row
  }
}
