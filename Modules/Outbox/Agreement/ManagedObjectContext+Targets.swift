import CoherenceCore

extension ManagedObjectContext {
  /// Returns the values to which a record can return, by property. A reference is left out if its target does not exist
  /// any more, or is the partner of another record by now: a later edit has moved the partner.
  func restorable(
    _ values: [String: AttributeValue], of id: ManagedObjectID, _ entity: EntityDescription
  ) throws -> [String: AttributeValue] {
    let ids = values.values.compactMap { value -> ManagedObjectID? in
      guard case .reference(let id) = value else { return nil }
      return id
    }
    guard !ids.isEmpty else { return values }
    let targets = try existingObjects(with: ids)
    return try values.filter { name, value in
      guard case .reference(let targetID) = value else { return true }
      guard let target = targets[targetID] else { return false }
      guard let inverse = entity.relationship(named: name)?.inverse, !inverse.isToMany else { return true }
      let partner = try target.object(for: inverse.name)
      return partner == nil || partner?.objectID == id
    }
  }

  /// Takes the changes of to-many relationships of a discarded edit back: added members leave, and removed members come
  /// back if their records exist, and if no other record has taken them. A change of the order stays, and so do members
  /// without which the save would be refused.
  ///
  /// - Parameters:
  ///   - changes: The changes in the order of their entries.
  ///   - later: The changes of later edits of the record, whose members stay as they are.
  ///   - names: The names of the entities that the outbox forwards. A change whose links the entries of the members
  ///     describe stays, because these entries are not discarded.
  func takeBack(
    _ changes: [OutboxMembers], besides later: [OutboxMembers] = [], of object: ManagedObject,
    forwarding names: Set<String>
  ) throws {
    guard !changes.isEmpty,
      let store = object.objectID.storeIdentifier.flatMap({ identifier in
        persistentStoreCoordinator?.persistentStore(with: identifier)
      })
    else { return }
    let recorded = RecordedEntity(object.entity, forwarding: names)
    for change in changes.reversed() where change.isKnown {
      guard let relationship = object.entity.relationship(named: change.name), relationship.isToMany,
        recorded.recordsLinks(of: relationship, isOwner: change.isOwner)
      else { continue }
      let kept = Set(later.filter { $0.name == change.name }.flatMap { $0.added + $0.removed })
      func ids(_ records: [OutboxRecord]) -> [ManagedObjectID] {
        records.filter { !kept.contains($0) }.compactMap { $0.objectID(in: store) }
      }
      // A member that needs an owner cannot leave, and has no former owner here.
      let leaves = relationship.inverse.map { $0.isToMany || $0.isOptional } ?? true
      let (added, removed) = (Set(leaves ? ids(change.added) : []), ids(change.removed))
      guard !added.isEmpty || !removed.isEmpty else { continue }
      var members = try object.objects(for: change.name).filter { !added.contains($0.objectID) }
      let present = Set(members.map(\.objectID))
      let existing = try existingObjects(with: removed)
      for id in removed where !present.contains(id) {
        guard let member = existing[id], try isFree(member, for: relationship.inverse) else { continue }
        members.append(member)
      }
      // Members of later edits may be beside the former ones.
      guard members.count >= relationship.minimumCount, relationship.maximumCount.map({ members.count <= $0 }) ?? true
      else { continue }
      try object.setObjects(members, for: change.name)
    }
  }

  /// Whether a record can become a member without leaving the list of another record.
  private func isFree(_ member: ManagedObject, for inverse: RelationshipDescription?) throws -> Bool {
    guard let inverse, !inverse.isToMany else { return true }
    return try member.object(for: inverse.name) == nil
  }
}
