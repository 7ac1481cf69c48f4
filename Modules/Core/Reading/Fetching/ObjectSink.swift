/// Makes the objects of a fetch.
struct ObjectSink: FetchSink {
  private let context: ManagedObjectContext
  private let making: ManagedObjectContext.ObjectMaking
  /// The group of the fetched rows; `nil` for a fetch with unsaved records.
  private let group: FetchGroup?
  /// Whether the rows may lack unsaved changes of the context's parents.
  private let needsParents: Bool
  private var objects: [ManagedObject] = []
  var sharesRows: Bool { true }

  init(_ plan: FetchPlan, in context: ManagedObjectContext) {
    self.context = context
    group = plan.needsOverlay ? nil : context.storage.groups.make(.fetch)
    needsParents = !plan.needsOverlay && context.readParent != nil
    making = plan.returnsObjectsAsFaults && !plan.needsOverlay ? .asFaults : .awakensLater
  }

  mutating func receive(_ rows: [Row]) {
    context.objects(for: needsParents ? context.shownRows(rows) : rows, into: &objects, making, in: group)
  }

  mutating func receive(_ records: ArraySlice<RecordState>) {
    var rows: [Row] = []
    for record in records {
      switch record.values {
      case .row(let row): rows.append(row)
      case .pending:
        flush(&rows)
        if let object = context.storage.registry.object(for: record.id) { objects.append(object) }
      }
    }
    flush(&rows)
  }

  /// Makes faults from the keys of the records, if all records are of one entity. In a hierarchy with several entities,
  /// only the row of a record names its entity.
  mutating func receiveAll(
    inOrderOf query: StoreQuery, in store: any PersistentStore, from reader: any StoreReader
  ) throws -> Bool {
    guard making.contains(.asFaults), let group, query.entities.count == 1, let reader = reader as? any KeyReading,
      let keys = try reader.keys(query)
    else { return false }
    let space = store.spaces[query.entity]
    let ids = keys.map { ManagedObjectID(space: space, key: $0) }
    objects = try context.faults(for: ids, of: query.entities[0], in: group)
    return true
  }

  /// Adds the objects of successive rows, made together.
  private mutating func flush(_ rows: inout [Row]) {
    guard !rows.isEmpty else { return }
    receive(rows)
    rows.removeAll(keepingCapacity: true)
  }

  /// Returns the objects, in the order of their records, as a group whose relationships are read together.
  consuming func finish() -> [ManagedObject] {
    if let group { context.storage.groups.enter(group) } else { context.group(objects) }
    return objects
  }
}

extension ManagedObjectContext {
  /// The registered objects of identifiers, and new faults of the others. Registered objects with values and without
  /// unsaved changes take a newer row.
  fileprivate final func faults(
    for ids: [ManagedObjectID], of entity: EntityDescription, in group: FetchGroup
  ) throws -> [ManagedObject] {
    var withRows: [ManagedObjectID] = []
    let objects = zip(ids, storage.registry.objects(for: ids)).map { id, registered in
      guard let registered else { return makeFault(id, entity: entity, in: group) }
      registered.groupNumber = group.number
      registered.groupIndex = group.add(id)
      if registered.pending == nil, registered.row != nil { withRows.append(id) }
      return registered
    }
    // The making of their objects gives the registered objects the newer rows.
    var renewed: [ManagedObject] = []
    self.objects(for: try loadRows(withRows), into: &renewed)
    return objects
  }
}
