/// The derived attributes of a model that depend on other records, by the entities and slots whose changes affect their
/// values.
struct DerivationIndex: Sendable {
  /// The changes of one entity's records that affect derived values.
  struct Triggers: Sendable {
    /// A path that begins with a reference of the record, in a slot.
    var paths: [(derivation: RelationshipDerivation, slot: Int)] = []
    /// A value computed from members that refer to their owner, in a slot. The value slot is `nil` for a count.
    var memberships: [(derivation: RelationshipDerivation, ownerSlot: Int, valueSlot: Int?)] = []
    /// A value computed from linked members, whose values are in a slot.
    var linkedValues: [(derivation: RelationshipDerivation, valueSlot: Int)] = []
    /// A path over the record, or to the record: the relationships up to the record, and the slot that the path reads
    /// there.
    var passages: [(derivation: RelationshipDerivation, steps: [RelationshipDescription], slot: Int)] = []
  }

  /// The triggers by entity. An entity whose records affect no derived value has no entry. The entry of linked members
  /// may be empty: only their inserts and deletes affect a count of them.
  private(set) var triggers: [ObjectIdentifier: Triggers] = [:]
  /// The derived values that depend on the links of a table, and whether their owners are the sources.
  private(set) var links: [LinkTable: [(derivation: RelationshipDerivation, isForward: Bool)]] = [:]
  /// Whether no attribute of the model depends on other records.
  var isEmpty: Bool { triggers.isEmpty && links.isEmpty }

  init(_ entities: [EntityDescription]) {
    for entity in entities {
      for attribute in entity.attributes where attribute.entity === entity {
        if let derivation = RelationshipDerivation(attribute) { add(derivation) }
      }
    }
  }

  /// The triggers of an entity; `nil` for an entity whose records affect no derived value.
  subscript(entity: EntityDescription) -> Triggers? { triggers[ObjectIdentifier(entity)] }

  /// Whether changes of records of some entities may affect values derived from other records.
  ///
  /// - Parameter slots: The changed slots; `nil` for inserts and deletes.
  func isConcerned(by entities: [EntityDescription], slots: SlotSet?) -> Bool {
    entities.contains { entity in
      guard let triggers = self[entity] else { return false }
      guard let slots else { return true }
      return triggers.readSlots.contains(where: slots.contains)
    }
  }

  private mutating func add(_ derivation: RelationshipDerivation) {
    switch derivation.rule {
    case .path(let steps, let attribute):
      for entity in derivation.attribute.entity.hierarchy {
        change(entity) { $0.paths.append((derivation, steps[0].slot ?? 0)) }
      }
      for (index, step) in steps.enumerated() {
        let slot = index + 1 < steps.count ? steps[index + 1].slot ?? 0 : attribute.slot
        for entity in step.destination.hierarchy {
          change(entity) { $0.passages.append((derivation, Array(steps[...index]), slot)) }
        }
      }
    case .count(let relationship): add(derivation, relationship, nil)
    case .members(_, let relationship, let attribute): add(derivation, relationship, attribute.slot)
    }
  }

  private mutating func add(
    _ derivation: RelationshipDerivation, _ relationship: RelationshipDescription, _ valueSlot: Int?
  ) {
    switch relationship.storage {
    case .column: break
    case .inverseColumn(let inverse, _):
      for entity in relationship.destination.hierarchy {
        change(entity) { $0.memberships.append((derivation, inverse.slot ?? 0, valueSlot)) }
      }
    case .links(let table, let isForward):
      links[table, default: []].append((derivation, isForward))
      // Deletes of members need no trigger: a deleted member loses its links, and the table of links has a trigger.
      for entity in relationship.destination.hierarchy {
        change(entity) { triggers in
          if let valueSlot { triggers.linkedValues.append((derivation, valueSlot)) }
        }
      }
    }
  }

  private mutating func change(_ entity: EntityDescription, _ body: (inout Triggers) -> Void) {
    body(&triggers[ObjectIdentifier(entity), default: Triggers()])
  }
}

extension DerivationIndex.Triggers {
  /// The slots whose changes affect derived values.
  fileprivate var readSlots: [Int] {
    paths.map(\.slot) + memberships.map(\.ownerSlot) + memberships.compactMap(\.valueSlot)
      + linkedValues.map(\.valueSlot) + passages.map(\.slot)
  }
}
