import CoherenceCore

extension InMemoryState {
  /// Computes derived values from the state that the steps of a save leave, and writes them into this state. Called by
  /// `save(_:derived:)` of the store.
  ///
  /// - Returns: The new rows of the owners whose values changed.
  /// - Throws: ``ErrorCode/arithmeticOverflow``.
  mutating func derive(_ updates: [DerivationUpdate]) throws -> [Row] {
    guard !updates.isEmpty else { return [] }
    var transaction = InMemoryTransaction(self)
    var changed: [ManagedObjectID: Row] = [:]
    for update in updates {
      for owner in try update.owners(in: self) {
        let values = try update.values(of: owner, in: self)
        guard values.contains(where: { owner[$0.key] != $0.value }) else { continue }
        // An owner may occur in the updates of its entity and of a superentity. The row keeps all their values.
        let row = (changed[owner.id] ?? owner).revised(setting: values)
        changed[owner.id] = row
        try transaction.setRow(row, key: row.key, of: row.entity)
      }
    }
    self = try transaction.finished()
    return changed.values.sorted { $0.key < $1.key }
  }
}

extension InMemoryState: DerivationSource {
  func record(_ key: Int64, of root: EntityDescription) -> Row? { row(key, of: root.root) }

  func referrers(to keys: Set<Int64>, by relationship: RelationshipDescription) -> [Row] {
    keys.flatMap { referrers(to: $0, by: relationship) }.compactMap { row($0, of: relationship.entity.root) }
  }

  func owners(of members: Set<Int64>, by relationship: RelationshipDescription) -> Set<Int64> {
    let root = relationship.destination.root
    switch relationship.storage {
    case .column: return []
    case .inverseColumn(let inverse, _):
      return Set(members.compactMap { row($0, of: root).flatMap { target(of: inverse, from: $0)?.key } })
    case .links(let table, let isForward):
      guard let links = links[table] else { return [] }
      return Set(members.flatMap { isForward ? Array(links.sources(of: $0)) : Array(links.targets(of: $0)) })
    }
  }
}
