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
      try replaceReferences(to: copy, by: object, in: context)
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
    var request = FetchRequest<ManagedObject>(entityName: entity.identifyingScope.name)
    request.predicate = .and(
      keys.sorted { $0.key < $1.key }.map { name, value in
        .comparison(.path(PropertyPath(names: [name])), .equal, .value(value))
      })
    let found = try context.fetch(request).filter { copy in
      copy.objectID != id && copy.objectID.storeIdentifier == id.storeIdentifier
    }
    guard !found.isEmpty else { return [] }
    // The log counts too: a new record of the user may have a key that the edited record has given up since.
    let edits = try context.entryRecords(of: found.map(\.objectID))
    return found.filter { edits[$0.objectID] == nil }
  }

  /// Names the object in place of the copy in the entries of the copy's members: the user may have given the copy
  /// further members. The server knows both records by one key, so that the requests keep their contents and keys.
  private func replaceReferences(
    to copy: ManagedObject, by object: ManagedObject, in context: ManagedObjectContext
  ) throws {
    let members = try copy.entity.relationships.filter(\.isToMany).flatMap { try copy.objects(for: $0.name) }
    guard !members.isEmpty, let rewriter = EntryRewriter(in: context, now: outbox.options.now) else { return }
    let (former, present) = (OutboxRecord(copy.objectID), OutboxRecord(object.objectID))
    func replaced(_ value: OutboxValue?) -> OutboxValue? { value == .record(former) ? .record(present) : value }
    func replacedMembers(_ records: [OutboxRecord]) -> [OutboxRecord] { records.map { $0 == former ? present : $0 } }
    for record in try context.entryRecords(of: Array(Set(members.map(\.objectID)))).values.joined() {
      let entry = try rewriter.decoded(record)
      guard entry.isReadable else { continue }
      var (changes, members) = (entry.changes, entry.members)
      for index in changes.indices {
        changes[index].base = replaced(changes[index].base)
        changes[index].value = replaced(changes[index].value)
      }
      for index in members.indices {
        members[index].added = replacedMembers(members[index].added)
        members[index].removed = replacedMembers(members[index].removed)
      }
      guard changes != entry.changes || members != entry.members else { continue }
      try record.write(changes, members, store: rewriter.store(of: copy.objectID))
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
