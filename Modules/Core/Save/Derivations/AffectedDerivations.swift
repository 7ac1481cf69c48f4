/// Finds the derived values that a save in one store must compute again. A pure function of the changes and the model.
///
/// The changes name some owners directly, such as the owner of a member before and after the change. Other owners, such
/// as the records whose path ends at a changed record, are unknown. For these, the update lists the changed records and
/// the relationships that lead back to the owners, and the store follows them.
struct AffectedDerivations {
  private let index: DerivationIndex
  private let environment: StoreEnvironment
  /// The entities that the store holds. Lazy, because most saves concern no derived value.
  private lazy var heldEntities = Set(environment.entities.map { ObjectIdentifier($0) })
  private var byEntity: [ObjectIdentifier: DerivationUpdate] = [:]

  /// Returns the derived values to compute, by entity; none for changes that concern no derived value.
  ///
  /// Costs one comparison in a model without values derived from other records; otherwise one look-up for each group of
  /// changed records.
  static func updates(of changes: RowChanges, in environment: StoreEnvironment) -> [DerivationUpdate] {
    let index = environment.model.derivations
    guard !index.isEmpty else { return [] }
    var affected = AffectedDerivations(index, environment)
    for group in changes.inserts { affected.note(group) }
    for group in changes.updates { affected.note(group) }
    for group in changes.deletes { affected.note(group) }
    affected.note(changes.links)
    return affected.byEntity.values.sorted { $0.entity.position < $1.entity.position }
  }

  private init(_ index: DerivationIndex, _ environment: StoreEnvironment) {
    self.index = index
    self.environment = environment
  }

  /// Changes the update of the entity with a derived attribute.
  private mutating func changeUpdate(_ derivation: RelationshipDerivation, _ body: (inout DerivationUpdate) -> Void) {
    let heldEntities = self.heldEntities
    // A store that does not hold the other records has no value for their owner.
    guard derivation.relationships.allSatisfy({ heldEntities.contains(ObjectIdentifier($0.destination)) }) else {
      return
    }
    let entity = derivation.attribute.entity
    body(&byEntity[ObjectIdentifier(entity), default: DerivationUpdate(of: entity)])
  }

  private mutating func note(owners keys: Set<Int64>, of derivation: RelationshipDerivation) {
    if !keys.isEmpty { changeUpdate(derivation) { $0.add(owners: keys, of: derivation) } }
  }

  // MARK: Rows

  private mutating func note(_ group: RowChanges.Inserts) {
    if let triggers = index[group.entity] {
      for path in triggers.paths {
        note(owners: Set(group.rows.lazy.filter { !$0[path.slot].isNull }.map(\.key)), of: path.derivation)
      }
      for membership in triggers.memberships {
        note(owners: group.rows.targets(membership.ownerSlot), of: membership.derivation)
      }
      // Only records of the same save can lead to a fresh record, and they name their owners themselves. Older records
      // may lead to a restored record.
      note(triggers.passages, through: group.restoredKeys)
    }
    guard !group.restoredKeys.isEmpty, !group.entity.checked.related.isEmpty else { return }
    // Records may still name a restored record as their owner and become its members again.
    for derivation in group.entity.attributes.compactMap(\.relationshipDerivation) {
      note(owners: group.restoredKeys, of: derivation)
    }
  }

  private mutating func note(_ group: RowChanges.Updates) {
    guard let triggers = index[group.entity] else { return }
    let slots = group.slots
    let rows = group.updates.lazy.map(\.row)
    for path in triggers.paths where slots.contains(path.slot) {
      note(owners: Set(rows.map(\.key)), of: path.derivation)
    }
    for membership in triggers.memberships {
      let isMoved = slots.contains(membership.ownerSlot)
      guard isMoved || membership.valueSlot.map(slots.contains) == true else { continue }
      var owners = rows.targets(membership.ownerSlot)
      if isMoved { owners.formUnion(group.bases.lazy.compactMap(\.self).targets(membership.ownerSlot)) }
      note(owners: owners, of: membership.derivation)
    }
    for linked in triggers.linkedValues where slots.contains(linked.valueSlot) {
      guard let relationship = linked.derivation.relationships.first else { continue }
      changeUpdate(linked.derivation) { $0.add(rows.map(\.key), by: .members(relationship), of: linked.derivation) }
    }
    let passages = triggers.passages.filter { slots.contains($0.slot) }
    if !passages.isEmpty { note(passages, through: Set(rows.map(\.key))) }
  }

  private mutating func note(_ group: RowChanges.Deletes) {
    guard let triggers = index[group.entity] else { return }
    for membership in triggers.memberships {
      note(owners: group.bases.lazy.compactMap(\.self).targets(membership.ownerSlot), of: membership.derivation)
    }
    // A delete clears constrained references, which are changes of the referring records. Other references dangle, and
    // their owners are found here.
    let dangling = triggers.passages.filter { $0.steps.last?.isConstrained == false }
    if !dangling.isEmpty { note(dangling, through: Set(group.deletes.lazy.map(\.id.key))) }
  }

  /// Notes the owners whose paths lead over records. The store finds the owners: it follows the steps of each passage
  /// back from the records.
  private mutating func note(
    _ passages: [(derivation: RelationshipDerivation, steps: [RelationshipDescription], slot: Int)],
    through keys: Set<Int64>
  ) {
    guard !keys.isEmpty else { return }
    for passage in passages {
      changeUpdate(passage.derivation) { $0.add(keys, by: .path(passage.steps), of: passage.derivation) }
    }
  }

  // MARK: Links

  private mutating func note(_ links: LinkChanges) {
    guard !links.isEmpty else { return }
    for (table, derivations) in index.links {
      let ends = Array(links.added[table, default: [:]].keys) + links.removed[table, default: []]
      for (derivation, isForward) in derivations {
        note(owners: Set(ends.lazy.map { isForward ? $0.source : $0.target }), of: derivation)
      }
    }
  }
}

extension Sequence<Row> {
  /// The keys of the records that a slot of the rows refers to.
  fileprivate func targets(_ slot: Int) -> Set<Int64> {
    var keys: Set<Int64> = []
    for row in self { if case .reference(let target) = row[slot] { keys.insert(target.key) } }
    return keys
  }
}
