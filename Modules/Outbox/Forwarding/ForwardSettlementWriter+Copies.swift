import CoherenceCore

extension ForwardSettlementWriter {
  /// Deletes the records that merges have inserted under a key which the server's answer gives to another record: a page
  /// had the server's record before the answer came. The other record takes over the members of to-many relationships.
  ///
  /// A copy with edits of the user stays, so that the save refuses the key and the entry is parked.
  ///
  /// - Parameter keys: The values of the identifying attributes.
  func replaceCopies(
    of object: ManagedObject, _ keys: [String: AttributeValue], in context: ManagedObjectContext
  ) throws {
    guard !keys.isEmpty, !keys.values.contains(where: \.isNull) else { return }
    var request = FetchRequest<ManagedObject>(entityName: object.entity.root.name)
    request.predicate = .and(
      keys.sorted { $0.key < $1.key }.map { name, value in
        .comparison(.path(PropertyPath(names: [name])), .equal, .value(value))
      })
    // The key of the object itself is still unset in the store.
    for copy in try context.fetch(request) where copy.objectID != object.objectID {
      let id = copy.objectID
      let edits = try outbox.entries(ofKeys: [id.key], root: id.entity.root, in: context)
      guard edits[id.key]?.contains(where: { $0.recordID == id }) != true else { continue }
      for relationship in copy.entity.relationships {
        try moveMembers(of: relationship, from: copy, to: object)
      }
      context.delete(copy)
    }
  }

  /// Moves members, so that no delete rule of the copy applies to them. The object keeps its own to-one targets, which the
  /// server has got with the edit.
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
    let known = try object.objects(for: name)
    let present = Set(known.map(\.objectID))
    let new = members.filter { !present.contains($0.objectID) && $0 !== copy }
    if !new.isEmpty { try object.setObjects(known + new, for: name) }
  }
}
