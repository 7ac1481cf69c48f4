// The records to evaluate again after changes.

extension LiveResult {
  /// The greatest number of changed related records whose dependent records are looked up. Beyond it, the request is
  /// run again.
  private static let lookUpLimit = 200

  /// Collects the records to evaluate after changes of the stores.
  ///
  /// - Parameter isUncertain: Whether the rows of the changes may be out of date.
  func collect(
    _ changes: StoreChanges, isUncertain: Bool, _ due: inout DueRecords, in context: ManagedObjectContext
  ) {
    for record in changes.records {
      if interest.mayFetch(record) {
        // A record that an earlier change concerns is evaluated with its last row, of which an object may be made.
        if record.kind == .updated, due.states[record.id] == nil, !interest.dependencies.own.mayBeChanged(by: record),
          !showsFormerRow(of: record, in: context)
        {
          let version = shownVersion(after: record, in: context)
          due.refresh(record.id, version: version)
          // A batch request posts no rows. The entry needs the version of the present state: with the former version, the
          // next evaluation of the record reports the change a second time.
          if version == nil, entriesByID[record.id] != nil { due.states[record.id] = .unread }
        } else {
          due.add(record, isUncertain: isUncertain)
        }
      }
      collect(related: record, &due)
    }
    if changes.relinkedByBatch.contains(where: { $0.entity.root === interest.root }) {
      due.refreshesAll = true
    }
    for (owner, relationships) in changes.relinked {
      if entriesByID[owner] != nil { due.refresh(owner, version: nil) }
      guard !relationships.isDisjoint(with: interest.dependencies.links) else { continue }
      // A change of a fetched record's own links concerns this record. From the owner of other links, no way leads back
      // to the fetched records.
      if interest.isDirect(relationships) {
        if due.states[owner] == nil { due.states[owner] = .unread }
      } else {
        due.runsAgain = true
      }
    }
  }

  /// The version of a record's state after a change, as a run of the request sees the state; `nil` for an unknown version.
  /// In a context that does not follow the writer, unsaved changes stay based on the former row.
  private func shownVersion(after record: StoreChanges.Record, in context: ManagedObjectContext) -> Int64? {
    guard request.includesPendingChanges, let unsaved = context.storage.record(for: record.id), !unsaved.isUnchanged
    else { return record.row?.version }
    return unsaved.base?.version
  }

  /// Whether the object of a listed record has older values than the store. Objects are outdated in a context that does
  /// not follow the writer.
  private func showsFormerRow(of record: StoreChanges.Record, in context: ManagedObjectContext) -> Bool {
    guard request.includesPendingChanges, entriesByID[record.id] != nil,
      let object = context.storage.registry.object(for: record.id), object.pending == nil, let shownRow = object.row
    else { return false }
    return record.row.map { shownRow.version < $0.version } ?? true
  }

  /// Collects the fetched records that read a changed record at the end of a path, or as their member.
  private func collect(related record: StoreChanges.Record, _ due: inout DueRecords) {
    let dependencies = interest.dependencies
    let root = record.entity.root
    for (index, path) in dependencies.paths.enumerated()
    where path.root === root && path.slots.mayBeChanged(by: record) {
      due.targets[index, default: []].insert(record.id)
    }
    for members in dependencies.members
    where members.root === root && members.slots.mayBeChanged(by: record, orMembership: true) {
      guard record.kind == .inserted || record.base != nil, record.kind == .deleted || record.row != nil else {
        due.runsAgain = true
        continue
      }
      for row in [record.base, record.row].compactMap(\.self) where members.ownerSlot < row.count {
        guard case .reference(let owner) = row[members.ownerSlot] else { continue }
        if due.states[owner] == nil { due.states[owner] = .unread }
      }
    }
    if dependencies.rerunConditions.contains(where: { $0.mayBeChanged(by: record) }) { due.runsAgain = true }
  }

  /// Collects the records to evaluate after a change of a record's unsaved state.
  func collect(touched id: ManagedObjectID, _ due: inout DueRecords) {
    let root = id.entity.root
    if root === interest.root, interest.only == nil || interest.only == id, due.states[id] == nil {
      due.states[id] = .unread
    }
    let dependencies = interest.dependencies
    if dependencies.members.contains(where: { $0.root === root })
      || dependencies.rerunConditions.contains(where: { $0.root === root })
    {
      // The former owner of an unsaved record is not known.
      due.runsAgain = true
    }
    for (index, path) in dependencies.paths.enumerated() where path.root === root {
      due.targets[index, default: []].insert(id)
    }
  }

  /// Finds the fetched records whose paths lead to changed records.
  func lookUp(_ due: inout DueRecords, in context: ManagedObjectContext) throws {
    guard !due.runsAgain, !due.targets.isEmpty, let plan else { return }
    for (index, targets) in due.targets {
      let steps = interest.dependencies.paths[index].steps
      // A store does not know the unsaved references of records in the middle of a path.
      let isHidden = steps.count > 1 && steps.dropFirst().contains { due.unsaved.contains($0.entity.root) }
      guard targets.count <= Self.lookUpLimit, !isHidden else { return due.runsAgain = true }
      let references = targets.filter { !$0.isTemporaryID }.map { AttributeValue.reference($0) }
      guard !references.isEmpty else { continue }
      let prepared = try PreparedPredicate(
        .membership(.path(PropertyPath(names: steps.map(\.name))), in: references), for: interest.entity)
      let query = StoreQuery(
        entity: interest.entity, includesSubentities: interest.includesSubentities, predicate: prepared.predicate)
      for store in plan.stores {
        try context.forEachRow(query, prepared: prepared, in: store) { rows in
          for row in rows where due.states[row.id]?.isRow != true { due.states[row.id] = .row(row) }
        }
      }
    }
    // The paths of unsaved records may lead to the changed records too, or no longer.
    if request.includesPendingChanges {
      for id in context.unsavedIDs(of: interest.root) where due.states[id] == nil { due.states[id] = .unread }
    }
  }
}
