import CoherenceCore

// The destinations of links that have pending edits of their own: a link from the server would change the other side of
// its relationship, which is a value of the edited destination.

extension PendingReconciliation {
  /// The destinations that the links of records to insert leave out, by relationship, and the records to insert with
  /// such a link.
  struct KeptTargets {
    var ids: [RelationshipDescription: Set<ManagedObjectID>] = [:]
    var indexes: Set<Int> = []
    /// The indexes of records that cannot be inserted, because a required destination is left out.
    var refused: Set<Int> = []
  }

  /// Finds the destinations of records to insert whose pending edits have given them another owner or partner, or none.
  func keptTargets(of inserts: [Int], _ incoming: Incoming) throws -> KeptTargets {
    var kept = KeptTargets()
    let relationships = layout.relationships.filter(mayHaveEditedTargets)
    guard !relationships.isEmpty else { return kept }
    var links: [RelationshipDescription: [(index: Int, ids: [ManagedObjectID])]] = [:]
    for index in inserts {
      for (relationship, link) in try incoming.input.links(index) where relationships.contains(relationship) {
        let ids = Self.existing(incoming.targets.members(link, of: relationship))
        if !ids.isEmpty { links[relationship, default: []].append((index, ids)) }
      }
    }
    for (relationship, group) in links {
      let edited = try editedTargets(Set(group.flatMap(\.ids)), of: relationship)
      guard !edited.isEmpty else { continue }
      kept.ids[relationship] = edited
      for link in group where !edited.isDisjoint(with: link.ids) {
        kept.indexes.insert(link.index)
        if !relationship.isToMany, !relationship.isOptional { kept.refused.insert(link.index) }
      }
    }
    return kept
  }

  /// Returns the records to insert without those that need a record that is left out, directly or by each other. They
  /// count as kept.
  ///
  /// - Parameters:
  ///   - inserts: The records that edits of their own and of their destinations allow.
  ///   - planned: All records to insert.
  func withoutDependents(_ inserts: [Int], of planned: [Int], _ incoming: Incoming) throws -> [Int] {
    guard inserts.count < planned.count else { return inserts }
    let dependents = try incoming.targets.dependents(
      on: Set(planned).subtracting(inserts), among: inserts, of: incoming.input)
    keptCount += dependents.count
    return inserts.filter { !dependents.contains($0) }
  }

  /// The slots of one-to-one relationships that updates leave alone, by input record, because the present or the new
  /// partner has a pending edit of its side. An edit of the record's own side decides itself.
  ///
  /// - Parameter edits: The pending edits of the updates' records.
  func slotsOfEditedPartners(
    of updates: [MergePlan.Update], _ edits: [ManagedObjectID: PendingEdit], _ incoming: Incoming
  ) throws -> [Int: SlotSet] {
    let relationships = layout.relationships.filter { $0.slot != nil && mayHaveEditedTargets($0) }
    guard !relationships.isEmpty else { return [:] }
    var partners: [RelationshipDescription: [(index: Int, slot: Int, ids: [ManagedObjectID])]] = [:]
    for update in updates {
      for (relationship, link) in try incoming.input.links(update.index) where relationships.contains(relationship) {
        guard let slot = relationship.slot, !layout.ignores(relationship),
          edits[update.row.id]?.includes(relationship.name) != true
        else { continue }
        var former: [MergeTargets.Target] = []
        if case .reference(let id) = update.row[slot] { former.append(.existing(id)) }
        let expected = incoming.targets.members(link, of: relationship, in: update.row.id.storeIdentifier)
        if former == expected { continue }
        partners[relationship, default: []].append((update.index, slot, Self.existing(former + expected)))
      }
    }
    var slots: [Int: SlotSet] = [:]
    for (relationship, group) in partners {
      let edited = try editedTargets(Set(group.flatMap(\.ids)), of: relationship)
      for partner in group where !edited.isDisjoint(with: partner.ids) {
        slots[partner.index, default: SlotSet()].insert(partner.slot)
      }
    }
    return slots
  }

  /// Whether destinations of a relationship may have pending edits of a reference that leads back.
  private func mayHaveEditedTargets(_ relationship: RelationshipDescription) -> Bool {
    relationship.inverse?.slot != nil && source.covers(relationship.destination)
  }

  /// The records whose pending edits change the reference that leads back, or whose confirmed edits have changed it since
  /// the request for the input.
  private func editedTargets(
    _ ids: Set<ManagedObjectID>, of relationship: RelationshipDescription
  ) throws -> Set<ManagedObjectID> {
    guard let inverse = relationship.inverse else { return [] }
    let edits = try edits(of: ids.sorted { $0.key < $1.key }, relationship.destination)
    return ids.filter { id in
      guard let edit = edits[id] else { return false }
      return edit.includes(inverse.name) || edit.outdated[inverse.name] != nil || edit.isConfirmedInsert
    }
  }

  private static func existing(_ targets: [MergeTargets.Target]) -> [ManagedObjectID] {
    targets.compactMap { if case .existing(let id) = $0 { id } else { nil } }
  }
}
