extension ManagedObjectContext {
  /// Merges the records with equal keys of an entity into one record for each key, without saving.
  ///
  /// For stores attached with ``StoreOption/allowsDuplicateKeys``. The kept record of each key keeps its attributes. It
  /// also gets the members of its duplicates, their to-one targets where it has none, and the references of other
  /// records to the duplicates. Then the duplicates are deleted, and their delete rules apply. Records with a missing
  /// value in the key stay unchanged.
  ///
  /// Call it inside the context. The call reads all keys of the entity once and keeps them in memory until it returns.
  /// It makes objects of duplicate records and of their related records only.
  ///
  /// - Parameters:
  ///   - entityName: The entity, whose subentities' records are compared too: ``DuplicateKeys/entityName``.
  ///   - choose: Returns the record to keep from the objects of one key, which come in the order of their insertion. By
  ///     default, the newest record is kept.
  /// - Returns: The number of deleted objects.
  /// - Throws: ``ErrorCode/unknownEntity``; ``ErrorCode/invalidMergeKey`` for an entity without a key, and when
  ///   `choose` returns another object; errors of fetching, loading and `choose`. Changes made until then stay in the
  ///   context; roll it back.
  @discardableResult
  public final func mergeDuplicates(
    of entityName: String,
    keeping choose: (_ duplicates: [ManagedObject]) throws -> ManagedObject = { $0[$0.count - 1] }
  ) throws -> Int {
    try operating {
      let model = try coordinator().managedObjectModel
      let entity = try model.entity(named: entityName)
      guard let key = entity.keyAttributes else {
        throw CoherenceError(
          .invalidMergeKey,
          "Duplicates of '\(entityName)' cannot be found, because the entity has no key; name its attributes in "
            + "'\(EntityDescription.keySetting)'."
        )
      }
      let finder = DuplicateFinder(keySlots: key.map(\.slot))
      try compare(FetchRequest<ManagedObject>(entityName: entityName), with: finder)
      let merger = DuplicateMerger(context: self, model: model)
      var kept: [ManagedObjectID: ManagedObject] = [:]
      for group in finder.groups {
        let objects = try existingObjects(with: group)
        let duplicates = group.compactMap { objects[$0] }
        guard duplicates.count > 1 else { continue }
        let choice = try choose(duplicates)
        guard duplicates.contains(where: { $0 === choice }) else {
          throw CoherenceError(
            .invalidMergeKey, "The record to keep of '\(entityName)' must be one of the records with the same key.")
        }
        for other in duplicates where other !== choice {
          try merger.moveRelationships(of: other, to: choice)
          kept[other.objectID] = choice
        }
      }
      try merger.redirectReferences(kept)
      for id in kept.keys.sorted(by: ManagedObjectID.precedes) { delete(object(with: id)) }
      return kept.count
    }
  }
}

/// Finds records with equal keys, without making objects of them.
private final class DuplicateFinder: RowExpectation {
  let keySlots: [Int]
  private var first: [[AttributeValue]: ManagedObjectID] = [:]
  private var duplicates: [[AttributeValue]: [ManagedObjectID]] = [:]

  init(keySlots: [Int]) { self.keySlots = keySlots }

  /// The records of each key with duplicates, the oldest first.
  var groups: [[ManagedObjectID]] {
    duplicates.values.map { $0.sorted(by: ManagedObjectID.precedes) }
      .sorted { ManagedObjectID.precedes($0[0], $1[0]) }
  }

  var expectedValues: [AttributeValue?] { [] }

  func verdict(on id: ManagedObjectID, key: [AttributeValue]) -> RowVerdict {
    if key.contains(where: \.isNull) { return .skip }
    if let other = first[key] {
      duplicates[key, default: [other]].append(id)
    } else {
      first[key] = id
    }
    return .skip
  }

  func take(_ row: Row) {}
}

/// Moves the relationships of duplicates to the kept records.
private struct DuplicateMerger {
  private static let chunkSize = 500

  let context: ManagedObjectContext
  let model: ManagedObjectModel

  // MARK: The records' own relationships

  func moveRelationships(of other: ManagedObject, to kept: ManagedObject) throws {
    for relationship in other.entity.relationships
    where kept.entity.relationship(named: relationship.name) === relationship {
      if relationship.isToMany {
        try moveMembers(relationship.name, of: other, to: kept)
      } else {
        try moveTarget(relationship, of: other, to: kept)
      }
    }
  }

  private func moveMembers(_ name: String, of other: ManagedObject, to kept: ManagedObject) throws {
    let members = try other.objects(for: name)
    guard !members.isEmpty else { return }
    let known = try kept.objects(for: name)
    let present = Set(known.map(\.objectID)).union([kept.objectID, other.objectID])
    let fresh = members.filter { !present.contains($0.objectID) }
    // The duplicate's members are removed first, so that its delete rules do not apply to them.
    try other.setObjects([], for: name)
    if !fresh.isEmpty { try kept.setObjects(known.filter { $0 !== other } + fresh, for: name) }
  }

  private func moveTarget(
    _ relationship: RelationshipDescription, of other: ManagedObject, to kept: ManagedObject
  ) throws {
    guard let target = try other.object(for: relationship.name) else { return }
    let isFree = try kept.object(for: relationship.name) == nil
    // The target of a duplicate whose place is taken is deleted with the duplicate.
    if !isFree, relationship.deleteRule == .cascade { return }
    try other.setObject(nil, for: relationship.name)
    if isFree, target !== kept, target !== other { try kept.setObject(target, for: relationship.name) }
  }

  // MARK: References without an inverse

  /// Redirects references to duplicates to the kept records, for relationships without an inverse.
  func redirectReferences(_ kept: [ManagedObjectID: ManagedObject]) throws {
    guard let root = kept.first?.key.entity else { return }
    for entity in model.entities {
      for relationship in entity.relationships
      where relationship.entity === entity && relationship.inverse == nil && relationship.destination.root === root {
        try redirect(relationship, kept)
      }
    }
  }

  private func redirect(_ relationship: RelationshipDescription, _ kept: [ManagedObjectID: ManagedObject]) throws {
    let ids = kept.keys.sorted(by: ManagedObjectID.precedes)
    for start in stride(from: 0, to: ids.count, by: Self.chunkSize) {
      let chunk = ids[start..<min(start + Self.chunkSize, ids.count)].map(AttributeValue.reference)
      let path = PropertyPath(names: [relationship.name])
      var request = FetchRequest<ManagedObject>(entityName: relationship.entity.name)
      request.predicate =
        relationship.isToMany
        ? .quantified(.any, path, .membership(.path(.own), in: chunk)) : .membership(.path(path), in: chunk)
      for owner in try context.fetch(request) { try redirect(relationship, of: owner, kept) }
    }
  }

  private func redirect(
    _ relationship: RelationshipDescription, of owner: ManagedObject, _ kept: [ManagedObjectID: ManagedObject]
  ) throws {
    guard relationship.isToMany else {
      let target = try owner.object(for: relationship.name)
      if let other = target.flatMap({ kept[$0.objectID] }) { try owner.setObject(other, for: relationship.name) }
      return
    }
    var seen: Set<ManagedObjectID> = []
    let members = try owner.objects(for: relationship.name).map { kept[$0.objectID] ?? $0 }
    try owner.setObjects(members.filter { seen.insert($0.objectID).inserted }, for: relationship.name)
  }
}
