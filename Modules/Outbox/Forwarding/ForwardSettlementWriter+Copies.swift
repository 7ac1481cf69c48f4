import CoherenceCore

extension ForwardSettlementWriter {
  /// Deletes the copies of a record whose key the server has just assigned. A merge has inserted such a copy, because a
  /// page showed the server's record before the reply with the key arrived. The record takes over the copy's members of
  /// to-many relationships.
  ///
  /// A copy with edits of the user stays. The save then refuses the key, and the entry is parked.
  ///
  /// - Parameters:
  ///   - object: The record of the user.
  ///   - keys: As in ``copies(of:_:_:in:)``.
  func replaceCopies(
    of object: ManagedObject, _ keys: [String: AttributeValue], in context: ManagedObjectContext
  ) throws {
    for copy in try copies(of: object.objectID, object.entity, keys, in: context) {
      for relationship in copy.entity.relationships {
        try moveMembers(of: relationship, from: copy, to: object)
      }
      context.delete(copy)
    }
  }

  /// Returns the copies of a record without edits of the user. A key is unique in its store: a record of another store
  /// with the same key is no copy.
  ///
  /// - Parameters:
  ///   - entity: The record's own entity. A record of another entity with the same key is no copy.
  ///   - keys: The assigned values of the identifying attributes; empty without an assigned value.
  func copies(
    of id: ManagedObjectID, _ entity: EntityDescription, _ keys: [String: AttributeValue],
    in context: ManagedObjectContext
  ) throws -> [ManagedObject] {
    guard !keys.isEmpty, !keys.values.contains(where: \.isNull) else { return [] }
    let root = id.entity.root
    var request = FetchRequest<ManagedObject>(entityName: entity.identifyingScope.name)
    request.predicate = .and(
      keys.sorted { $0.key < $1.key }.map { name, value in
        .comparison(.path(PropertyPath(names: [name])), .equal, .value(value))
      })
    return try context.fetch(request).filter { copy in
      guard copy.objectID != id, copy.objectID.storeIdentifier == id.storeIdentifier else { return false }
      let edits = try outbox.entries(ofKeys: [copy.objectID.key], root: root, in: context)
      return edits[copy.objectID.key]?.contains { $0.recordID == copy.objectID } != true
    }
  }

  /// Detaches the members and the target of a copy, so that the deletion of the copy does not delete them, and moves
  /// the members to the object. The object keeps its to-one targets, which the edit has sent to the server.
  private func moveMembers(
    of relationship: RelationshipDescription, from copy: ManagedObject, to object: ManagedObject
  ) throws {
    let name = relationship.name
    guard relationship.isToMany else {
      if try copy.object(for: name) != nil { try copy.setObject(nil, for: name) }
      return
    }
    let members = try copy.objects(for: name)
    guard !members.isEmpty else { return }
    try copy.setObjects([], for: name)
    guard object.entity.relationship(named: name) === relationship else { return }
    let ownMembers = try object.objects(for: name)
    let ownIDs = Set(ownMembers.map(\.objectID))
    let added = members.filter { !ownIDs.contains($0.objectID) && $0 !== copy }
    if !added.isEmpty { try object.setObjects(ownMembers + added, for: name) }
  }
}
