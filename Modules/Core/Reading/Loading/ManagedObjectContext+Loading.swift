// Rows by identifier, from parents and stores.

extension ManagedObjectContext {
  /// Loads the row of a fault, with the rows of the faults of its group.
  ///
  /// - Throws: ``ErrorCode/objectNotFound`` or ``ErrorCode/objectDeleted`` for a missing record; errors of the store.
  final func fire(_ object: ManagedObject) throws {
    try loading {
      try fireGroup(of: object)
      if object.row == nil {
        noteFault(of: object.entity)
        guard let row = try loadRow(object.recordID) else {
          noteMissing([object.recordID])
          throw object.deletedError()
        }
        object.fill(with: row)
      }
    }
  }

  /// Returns the elements whose records may be read together: those of attached stores, and the unsaved records of
  /// parents. A read with a record of a detached store throws, and returns no other record.
  ///
  /// - Parameter recordID: Returns the identifier of an element.
  final func readable<Element>(_ elements: [Element], _ recordID: (Element) -> ManagedObjectID) -> [Element] {
    guard !elements.isEmpty, let stores = persistentStoreCoordinator?.persistentStores else { return elements }
    let attached = Set(stores.map(\.identifier))
    // Successive records mostly have one space.
    var last: (id: ManagedObjectID, isReadable: Bool)?
    return elements.filter { element in
      let id = recordID(element)
      if let last, id.hasSameSpace(as: last.id) { return last.isReadable }
      let isReadable = id.storeIdentifier.map(attached.contains) ?? true
      last = (id, isReadable)
      return isReadable
    }
  }

  /// Loads the rows of an object's group, if it has other faults, with one read.
  private final func fireGroup(of object: ManagedObject) throws {
    guard let group = storage.groups.group(of: object) else { return }
    let ids = group.faults(at: Int(object.groupIndex))
    let faults = zip(ids, storage.registry.objects(for: ids)).compactMap { id, neighbour in
      neighbour?.isFault == true ? id : nil
    }
    guard faults.count > 1 else { return }
    for row in try loadRows(readable(faults) { $0 }) {
      guard let neighbour = storage.registry.object(for: row.id), neighbour.isFault else { continue }
      neighbour.fill(with: row)
    }
  }

  /// Returns the row of a record below this context: the store's row with the unsaved changes of the parents; `nil` for
  /// a missing record.
  final func loadRow(_ id: ManagedObjectID) throws -> Row? {
    guard let inherited = inheritedRecord(of: id) else { return try committedRow(id) }
    if inherited.isDeleted { return nil }
    return inherited.mayBeBehind ? inherited.caughtUp(with: try committedRow(id)) : inherited.row
  }

  /// Returns the row of a record as its store has it; `nil` for a missing record.
  final func committedRow(_ id: ManagedObjectID) throws -> Row? {
    guard !id.isTemporaryID else { return nil }
    let coordinator = try coordinator()
    let (reader, cachedRows) = try lease.reader(for: coordinator.store(of: id), with: coordinator.rowCache)
    if let row = try cachedRows?.row(id) { return row }
    guard let row = try reader.row(id.key, of: id.entity) else { return nil }
    try id.entity.check(row)
    guard lease.pins == 0 else { return row }
    // The cache gets the row before the row is shared. It then drops rows of an earlier state, one of which the sharing
    // could otherwise put in place of this row.
    cachedRows?.enter(row)
    var rows = [row]
    row.id.space.rows.share(&rows)
    return rows[0]
  }

  /// Returns the rows of records below this context, in any order. Missing records are left out.
  final func loadRows(_ ids: [ManagedObjectID]) throws -> [Row] {
    var inherited: [InheritedRecord] = []
    var committed: [ManagedObjectID] = []
    for id in ids {
      guard let record = inheritedRecord(of: id) else {
        committed.append(id)
        continue
      }
      if !record.isDeleted { inherited.append(record) }
    }
    return try rows(of: inherited) + committedRows(committed)
  }

  /// Returns the rows of records as their stores have them, in any order. Missing records are left out.
  final func committedRows(_ ids: [ManagedObjectID]) throws -> [Row] {
    var result: [Row] = []
    var wanted: [IDSpaceKey: [Int64]] = [:]
    for id in ids where !id.isTemporaryID { wanted[IDSpaceKey(space: id.space), default: []].append(id.key) }
    for (key, keys) in wanted {
      let coordinator = try coordinator()
      let store = try coordinator.store(of: ManagedObjectID(space: key.space, key: 0))
      let (reader, cachedRows) = try lease.reader(for: store, with: coordinator.rowCache)
      // The keys of rows that the cache does not have.
      var missing = keys
      if let cachedRows { result += try cachedRows.rows(&missing, in: key.space) }
      guard !missing.isEmpty else { continue }
      var rows = try reader.rows(missing, of: key.space.root)
      try key.space.root.check(rows)
      if lease.pins == 0 {
        cachedRows?.enter(rows)
        key.space.rows.share(&rows)
      }
      result += rows
    }
    return result
  }

  /// Replaces rows by equal shared rows of the process, so that contexts share buffers. Rows of a snapshot are not
  /// shared.
  final func share(_ rows: inout [Row]) {
    guard lease.pins == 0, let id = rows.first?.id else { return }
    if RowCache.isAnyInUse { renewCachedRows(ofStoreOf: id) }
    id.space.rows.share(&rows)
  }

  /// Drops the cached rows of a record's store if the lease sees a later state: they must not take the place of newer
  /// rows.
  private final func renewCachedRows(ofStoreOf id: ManagedObjectID) {
    guard let coordinator = persistentStoreCoordinator, let store = try? coordinator.store(of: id),
      let cachedRows = try? lease.reader(for: store, with: coordinator.rowCache).cachedRows
    else { return }
    cachedRows.renew()
  }

  /// Whether no parent has unsaved changes of a record, so that the store's row is the row below this context.
  final func isUnchangedInParents(_ id: ManagedObjectID) -> Bool { inheritedRecord(of: id) == nil }
}

/// An identifier space as a key of a dictionary, by identity.
struct IDSpaceKey: Hashable {
  let space: IDSpace
  static func == (left: IDSpaceKey, right: IDSpaceKey) -> Bool { left.space === right.space }
  func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(space)) }
}
