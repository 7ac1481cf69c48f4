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
}
