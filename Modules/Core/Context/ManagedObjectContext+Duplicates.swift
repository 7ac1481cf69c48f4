extension ManagedObjectContext {
  /// Merges the records of one store with equal keys of an entity into one record for each key, without saving.
  ///
  /// For stores attached with ``StoreOption/allowsDuplicateKeys``. The kept record of each key keeps its attributes. It
  /// also gets the members of its duplicates, their to-one targets where it has none, and the references of other
  /// records to the duplicates. Weak references are redirected in every attached store that accepts changes. Then the
  /// duplicates are deleted, and their delete rules apply, except to kept records: a kept record leaves each
  /// relationship by which the rule ``DeleteRule/cascade`` would delete it. Records with a missing value in the key stay
  /// unchanged.
  ///
  /// Call it inside the context. The call reads all keys of the entity once and keeps them in memory until it returns.
  /// It makes objects of duplicate records and of their related records only.
  ///
  /// - Parameters:
  ///   - entityName: The entity, whose subentities' records are compared too: ``DuplicateKeys/entityName``. The records
  ///     of an abstract entity are compared within each of its nearest concrete subentities.
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
      let finder = DuplicateFinder(keySlots: key.map(\.slot)) { [storage] id in
        storage.record(for: id).flatMap { $0.permanentID.storeIdentifier ?? $0.assignedStore }
      }
      for scope in entity.keyScopes where scope.keyAttributes == key {
        finder.scope = scope.name
        finder.defaultStore = try coordinator().storesForNewRecords(of: scope).first?.identifier
        try compare(FetchRequest<ManagedObject>(entityName: scope.name), with: finder)
      }
      let merger = DuplicateMerger(context: self, model: model)
      // The kept records by the identifiers of their duplicates.
      var keptRecords: [ManagedObjectID: ManagedObject] = [:]
      for group in finder.groups {
        let objects = try existingObjects(with: group)
        let duplicates = group.compactMap { objects[$0] }
        guard duplicates.count > 1 else { continue }
        let choice = try choose(duplicates)
        guard duplicates.contains(where: { $0 === choice }) else {
          throw CoherenceError(
            .invalidMergeKey, "The record to keep of '\(entityName)' must be one of the records with the same key.")
        }
        for duplicate in duplicates where duplicate !== choice {
          try merger.moveRelationships(of: duplicate, to: choice)
          keptRecords[duplicate.objectID] = choice
        }
      }
      try merger.redirectReferences(keptRecords)
      try merger.redirectWeakReferences(keptRecords)
      try merger.releaseKeptRecords(keptRecords)
      for id in keptRecords.keys.sorted(by: ManagedObjectID.precedes) { delete(object(with: id)) }
      return keptRecords.count
    }
  }
}

extension EntityDescription {
  /// The entities among whose records a key is unique: the entity itself, or the nearest concrete subentities of an
  /// abstract entity.
  fileprivate var keyScopes: [EntityDescription] { isAbstract ? subentities.flatMap(\.keyScopes) : [self] }
}

/// Finds records with equal keys. Skips every row after its key, so that no values are read and no objects made.
private final class DuplicateFinder: RowExpectation {
  /// A key with the bounds within which it is unique. Records of several stores may have equal keys.
  private struct ScopedKey: Hashable {
    let store: StoreIdentifier?
    let scope: String
    let values: [AttributeValue]
  }

  let keySlots: [Int]
  /// The name of the entity whose records are compared at the moment.
  var scope = ""
  /// The store in which a save puts a new record of that entity, unless the record has a store of its own.
  var defaultStore: StoreIdentifier?
  /// Returns the store of an unsaved record; `nil` for a record whose store the save chooses.
  private let storeOfUnsaved: (ManagedObjectID) -> StoreIdentifier?
  /// The first record of each key.
  private var firstIDs: [ScopedKey: ManagedObjectID] = [:]
  /// All records of each key with more than one record, the first one included.
  private var duplicates: [ScopedKey: [ManagedObjectID]] = [:]

  init(keySlots: [Int], storeOfUnsaved: @escaping (ManagedObjectID) -> StoreIdentifier?) {
    self.keySlots = keySlots
    self.storeOfUnsaved = storeOfUnsaved
  }

  /// The records of each key with duplicates, the oldest first.
  var groups: [[ManagedObjectID]] {
    duplicates.values.map { $0.sorted(by: ManagedObjectID.precedes) }
      .sorted { ManagedObjectID.precedes($0[0], $1[0]) }
  }

  var expectedValues: [AttributeValue?] { [] }

  func verdict(on id: ManagedObjectID, key: [AttributeValue]) -> RowVerdict {
    if key.contains(where: \.isNull) { return .skip }
    let store = id.storeIdentifier ?? storeOfUnsaved(id) ?? defaultStore
    let key = ScopedKey(store: store, scope: scope, values: key)
    if let firstID = firstIDs[key] {
      duplicates[key, default: [firstID]].append(id)
    } else {
      firstIDs[key] = id
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

  /// Gives the kept record the members of a duplicate, and the duplicate's to-one targets where the kept record has
  /// none.
  func moveRelationships(of duplicate: ManagedObject, to kept: ManagedObject) throws {
    for relationship in duplicate.entity.relationships
    where kept.entity.relationship(named: relationship.name) === relationship {
      if relationship.isToMany {
        try moveMembers(relationship.name, of: duplicate, to: kept)
      } else {
        try moveTarget(relationship, of: duplicate, to: kept)
      }
    }
  }

  private func moveMembers(_ name: String, of duplicate: ManagedObject, to kept: ManagedObject) throws {
    let members = try duplicate.objects(for: name)
    guard !members.isEmpty else { return }
    let keptMembers = try kept.objects(for: name)
    let excludedIDs = Set(keptMembers.map(\.objectID)).union([kept.objectID, duplicate.objectID])
    let newMembers = members.filter { !excludedIDs.contains($0.objectID) }
    // The duplicate's members are removed first, so that its delete rules do not apply to them.
    try duplicate.setObjects([], for: name)
    if !newMembers.isEmpty {
      try kept.setObjects(keptMembers.filter { $0 !== duplicate } + newMembers, for: name)
    }
  }

  private func moveTarget(
    _ relationship: RelationshipDescription, of duplicate: ManagedObject, to kept: ManagedObject
  ) throws {
    guard let target = try duplicate.object(for: relationship.name) else { return }
    let isFree = try kept.object(for: relationship.name) == nil
    // The kept record has a target already: a cascade deletes the duplicate's target with the duplicate.
    if !isFree, relationship.deleteRule == .cascade { return }
    try duplicate.setObject(nil, for: relationship.name)
    if isFree, target !== kept, target !== duplicate { try kept.setObject(target, for: relationship.name) }
  }

  // MARK: Delete rules

  /// Takes the kept records out of the relationships with the rule ``DeleteRule/cascade`` of the duplicates, and of the
  /// records that the rule deletes with them.
  ///
  /// - Parameter keptRecords: The kept records by the identifiers of their duplicates.
  func releaseKeptRecords(_ keptRecords: [ManagedObjectID: ManagedObject]) throws {
    guard let root = keptRecords.first?.key.entity.root else { return }
    let keptIDs = Set(keptRecords.values.map(\.objectID))
    var visited = Set(keptRecords.keys)
    var unvisited = keptRecords.keys.sorted(by: ManagedObjectID.precedes).map { context.object(with: $0) }
    while let owner = unvisited.popLast() {
      for relationship in owner.entity.relationships
      where relationship.deleteRule == .cascade && relationship.destination.reachesByCascades({ $0.root === root }) {
        let targets = try owner.targets(of: relationship)
        let others = targets.filter { !keptIDs.contains($0.objectID) }
        unvisited += others.filter { visited.insert($0.objectID).inserted }
        if others.count < targets.count { try owner.setTargets(others, of: relationship) }
      }
    }
  }

  // MARK: References without an inverse

  /// Redirects references to duplicates to the kept records, for relationships without an inverse.
  ///
  /// - Parameter keptRecords: The kept records by the identifiers of their duplicates.
  func redirectReferences(_ keptRecords: [ManagedObjectID: ManagedObject]) throws {
    guard let root = keptRecords.first?.key.entity else { return }
    for entity in model.entities where try context.isHeld(entity) {
      for relationship in entity.relationships
      where relationship.entity === entity && relationship.inverse == nil && relationship.destination.root === root {
        try redirect(relationship, keptRecords)
      }
    }
  }

  private func redirect(
    _ relationship: RelationshipDescription, _ keptRecords: [ManagedObjectID: ManagedObject]
  ) throws {
    let ids = keptRecords.keys.sorted(by: ManagedObjectID.precedes)
    for start in stride(from: 0, to: ids.count, by: Self.chunkSize) {
      let chunk = ids[start..<min(start + Self.chunkSize, ids.count)].map(AttributeValue.reference)
      let path = PropertyPath(names: [relationship.name])
      var request = FetchRequest<ManagedObject>(entityName: relationship.entity.name)
      request.predicate =
        relationship.isToMany
        ? .quantified(.any, path, .membership(.path(.own), in: chunk)) : .membership(.path(path), in: chunk)
      for owner in try context.fetch(request) { try redirect(relationship, of: owner, keptRecords) }
    }
  }

  private func redirect(
    _ relationship: RelationshipDescription, of owner: ManagedObject, _ keptRecords: [ManagedObjectID: ManagedObject]
  ) throws {
    guard relationship.isToMany else {
      let target = try owner.object(for: relationship.name)
      if let kept = target.flatMap({ keptRecords[$0.objectID] }) { try owner.setObject(kept, for: relationship.name) }
      return
    }
    var seen: Set<ManagedObjectID> = []
    let members = try owner.objects(for: relationship.name).map { keptRecords[$0.objectID] ?? $0 }
    try owner.setObjects(members.filter { seen.insert($0.objectID).inserted }, for: relationship.name)
  }

  // MARK: Weak references

  /// Redirects weak references to duplicates to the kept records.
  ///
  /// - Parameter keptRecords: The kept records by the identifiers of their duplicates.
  func redirectWeakReferences(_ keptRecords: [ManagedObjectID: ManagedObject]) throws {
    guard let root = keptRecords.first?.key.entity.root else { return }
    let attributes = model.entities.flatMap { entity in
      entity.attributes.filter { $0.entity === entity && $0.derivation == nil && mayLead($0, to: root) }
    }
    guard !attributes.isEmpty else { return }
    var keptRecordsByText: [AttributeValue: ManagedObject] = [:]
    // Nothing refers weakly to a record without a permanent identifier.
    for (id, kept) in keptRecords where !id.isTemporaryID {
      keptRecordsByText[.string(try StoredObjectID(id).description)] = kept
    }
    let texts = Array(keptRecordsByText.keys)
    for attribute in attributes where try context.isHeld(attribute.entity) {
      for start in stride(from: 0, to: texts.count, by: Self.chunkSize) {
        let chunk = Array(texts[start..<min(start + Self.chunkSize, texts.count)])
        var request = FetchRequest<ManagedObject>(entityName: attribute.entity.name)
        request.predicate = .membership(.path(PropertyPath(attribute.name)), in: chunk)
        for owner in try context.fetch(request) where !isReadOnly(owner) {
          let text = try owner.value(for: attribute.name)
          guard let kept = keptRecordsByText[text] else { continue }
          try owner.setAttributeValue(.string(try kept.permanentStoredID().description), for: attribute.name)
        }
      }
    }
  }

  /// Whether an attribute is a weak reference to records of a hierarchy.
  private func mayLead(_ attribute: AttributeDescription, to root: EntityDescription) -> Bool {
    guard case .weakReference(let name) = attribute.type else { return false }
    return name.map { model.entitiesByName[$0]?.root === root } ?? true
  }

  /// Whether the store of an object refuses changes.
  private func isReadOnly(_ object: ManagedObject) -> Bool {
    let store = object.storeIdentifier.flatMap { context.persistentStoreCoordinator?.persistentStore(with: $0) }
    return store?.environment.isReadOnly == true
  }
}
