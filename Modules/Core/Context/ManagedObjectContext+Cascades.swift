// Delete rules for many records at a time: one read for each relationship of a level, and no objects for records whose
// class has no deletion hooks.
//
// A record deleted without an object had no unsaved changes. So the members of its to-many relationships are the
// members in the store or the parent.

extension ManagedObjectContext {
  /// Prepares the delete rules of deleted objects: loads the related objects that the rules change, and marks the other
  /// targets of cascades as deleted without an object.
  ///
  /// - Parameter objects: Deleted objects of one entity.
  /// - Returns: The loaded objects, for the caller to retain.
  final func loadTargets(of objects: [ManagedObject], _ entity: EntityDescription) throws -> [ManagedObject] {
    var loaded: [ManagedObject] = []
    for relationship in entity.relationships {
      // An undo restores objects.
      if storage.recordsUndo {
        loaded += try prefetch(relationship.name, of: objects)
        continue
      }
      switch relationship.appliedDeleteRule {
      case .cascade:
        guard relationship.mayCascadeWithoutObjects else { fallthrough }
        let owners = objects.compactMap(\.pending).filter { $0.kind == .deleted }
        var rows: [ManagedObjectID: Row] = [:]
        let targets = try targets(of: relationship, from: owners, rows: &rows)
        loaded += try markDeletedOrLoad(targets.flatMap(\.ids), &rows)
      case .deny: loaded += try prefetch(relationship.name, of: objects)
      case .nullify where relationship.inverse != nil: loaded += try prefetch(relationship.name, of: objects)
      case .nullify, .noAction: break
      }
    }
    return loaded
  }

  /// Applies the delete rules of records deleted without an object.
  ///
  /// - Returns: The loaded objects, for the caller to retain.
  final func applyDeleteRules(of records: [PendingRecord]) throws -> [ManagedObject] {
    var loaded: [ManagedObject] = []
    for (entity, group) in records.grouped(by: \.entity) {
      for relationship in entity.relationships {
        // A hook may have reverted deletes, for example by a rollback.
        let owners = group.areDeleted ? group : group.filter(\.isDeleted)
        guard !owners.isEmpty else { break }
        switch relationship.appliedDeleteRule {
        case .cascade: loaded += try cascade(relationship, from: owners)
        case .nullify: loaded += try nullify(relationship, from: owners)
        case .deny, .noAction: break
        }
      }
    }
    return loaded
  }

  /// Deletes the targets of a cascade: as objects if they are registered or have deletion hooks, otherwise without.
  ///
  /// - Returns: The loaded objects.
  private final func cascade(
    _ relationship: RelationshipDescription, from owners: [PendingRecord]
  ) throws -> [ManagedObject] {
    var rows: [ManagedObjectID: Row] = [:]
    let targets = try targets(of: relationship, from: owners, rows: &rows)
    let objects = try markDeletedOrLoad(targets.flatMap(\.ids), &rows)
    guard !objects.isEmpty else { return [] }
    for (owner, ids) in targets {
      for id in ids {
        guard owner.isTracked, owner.kind == .deleted else { break }
        guard let target = storage.registry.object(for: id), target.pending?.kind != .deleted else { continue }
        try cascade(to: target, from: owner.id, relationship) { owner.isTracked && owner.kind == .deleted }
      }
    }
    return objects
  }

  /// Removes deleted records from the inverse relationship of their targets.
  ///
  /// - Returns: The loaded targets.
  private final func nullify(
    _ relationship: RelationshipDescription, from owners: [PendingRecord]
  ) throws -> [ManagedObject] {
    guard relationship.inverse != nil else { return [] }
    let owners = relationship.slot.map { self.owners(owners, withPresentTargetAt: $0) } ?? owners
    guard !owners.isEmpty else { return [] }
    var rows: [ManagedObjectID: Row] = [:]
    let targets = try targets(of: relationship, from: owners, rows: &rows)
    let objects = try load(Set(targets.lazy.flatMap(\.ids)), &rows)
    guard !objects.isEmpty else { return [] }
    let byID = Dictionary(objects.map { ($0.recordID, $0) }, uniquingKeysWith: { first, _ in first })
    for (owner, ids) in targets {
      for id in ids {
        if let target = byID[id] { try unlink(target, from: owner.id, relationship) }
      }
    }
    return objects
  }

  /// The deleted records whose target of a to-one relationship is not deleted itself. Mostly the target is the owner whose
  /// cascade has deleted the records, so that no lists of targets are made.
  private final func owners(_ owners: [PendingRecord], withPresentTargetAt slot: Int) -> [PendingRecord] {
    var latest: (target: ManagedObjectID, isDeleted: Bool)?
    return owners.filter { owner in
      guard case .reference(let target) = owner[slot] else { return false }
      if latest?.target != target { latest = (target, storage.record(for: target)?.kind == .deleted) }
      return latest?.isDeleted == false
    }
  }

  /// The targets of a relationship of deleted records, with the unsaved changes of this context.
  ///
  /// - Parameter rows: Receives rows of targets, as far as the read returns rows.
  private final func targets(
    of relationship: RelationshipDescription, from owners: [PendingRecord], rows: inout [ManagedObjectID: Row]
  ) throws -> [(owner: PendingRecord, ids: [ManagedObjectID])] {
    if let slot = relationship.slot {
      return owners.compactMap { owner in
        if case .reference(let id) = owner[slot] { (owner, [id]) } else { nil }
      }
    }
    var read: [ManagedObjectID: Row] = [:]
    let stored = try loading {
      enterUnit()
      return try storedMembers(of: relationship, owners: owners.map(\.id), rows: &read)
    }
    rows = read
    return try owners.map { owner in
      guard let object = owner.object else { return (owner, stored[owner.id] ?? []) }
      object.setMemberList(stored[owner.id] ?? [], of: relationship)
      return (owner, try object.memberIDs(of: relationship))
    }
  }

  /// Marks the targets of a cascade without deletion hooks as deleted, and loads the objects of the other targets.
  ///
  /// - Parameter rows: The known rows of targets; receives the rows read here.
  /// - Returns: The loaded objects of the targets that the caller must delete.
  private final func markDeletedOrLoad(
    _ ids: [ManagedObjectID], _ rows: inout [ManagedObjectID: Row]
  ) throws -> [ManagedObject] {
    var unregistered: [ManagedObjectID] = []
    var registered: [ManagedObjectID] = []
    for (id, object) in zip(ids, storage.registry.objects(for: ids)) {
      if storage.record(for: id)?.kind == .deleted { continue }
      if object == nil { unregistered.append(id) } else { registered.append(id) }
    }
    var found = unregistered.map { rows[$0] }
    let unread = zip(unregistered, found).compactMap { id, row in row == nil ? id : nil }
    if !unread.isEmpty {
      for row in try loading({ try loadRows(unread) }) { rows[row.id] = row }
      found = unregistered.map { rows[$0] }
    }
    var idsToLoad: [ManagedObjectID] = registered
    var bare: [Row] = []
    bare.reserveCapacity(found.count)
    // The delete of a missing record needs no rule.
    for case let row? in found {
      if row.entity.checked.hasDeletionHooks { idsToLoad.append(row.id) } else { bare.append(row) }
    }
    storage.trackBareDeletes(of: bare)
    return try load(idsToLoad, &rows)
  }

  /// Loads the objects of records, without deleted records, in one read for each store.
  private final func load(
    _ ids: some Collection<ManagedObjectID>, _ rows: inout [ManagedObjectID: Row]
  ) throws -> [ManagedObject] {
    let ids = storage.unsaved.hasDeletes ? ids.filter { storage.record(for: $0)?.kind != .deleted } : Array(ids)
    guard !ids.isEmpty else { return [] }
    let registered = storage.registry.objects(for: ids)
    let faults = zip(ids, registered).compactMap { id, object in object?.isLoaded == true ? nil : id }
    let unread = faults.filter { rows[$0] == nil }
    var objects = registered.compactMap { $0 }
    try loading {
      if !unread.isEmpty { for row in try loadRows(unread) { rows[row.id] = row } }
      self.objects(for: faults.compactMap { rows[$0] }, into: &objects, .keepsRows)
    }
    // A loaded fault is in the list twice: from the registry, and from the load.
    var seen = Set<ObjectIdentifier>(minimumCapacity: objects.count)
    return objects.filter { $0.isLoaded && seen.insert(ObjectIdentifier($0)).inserted }
  }
}

extension [PendingRecord] {
  /// Whether all records are tracked deletes. Counts no reference to a record.
  fileprivate var areDeleted: Bool {
    var areDeleted = true
    visit { record in record._withUnsafeGuaranteedRef { if !$0.isDeleted { areDeleted = false } } }
    return areDeleted
  }
}

extension PendingRecord {
  fileprivate var isDeleted: Bool { isTracked && kind == .deleted }
}

extension RelationshipDescription {
  /// Whether a cascade over the relationship may delete records without making objects.
  fileprivate var mayCascadeWithoutObjects: Bool {
    destination.concreteEntities.contains { !$0.checked.hasDeletionHooks }
  }
}
