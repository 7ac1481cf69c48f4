/// Makes the objects of a fetch.
struct ObjectSink: FetchSink {
  private let context: ManagedObjectContext
  private let making: ManagedObjectContext.ObjectMaking
  /// The group of the fetched rows; `nil` where unsaved records are among them.
  private let group: FetchGroup?
  private var objects: [ManagedObject] = []
  var sharesRows: Bool { true }

  init(_ plan: FetchPlan, in context: ManagedObjectContext) {
    self.context = context
    group = plan.needsOverlay ? nil : context.storage.groups.make(.fetch)
    making = plan.returnsObjectsAsFaults && !plan.needsOverlay ? .asFaults : []
  }

  mutating func receive(_ rows: [Row]) {
    if let group { return context.objects(for: rows, into: &objects, making, in: group) }
    var unknown: [Row] = []
    for row in rows { receive(row, &unknown) }
    flush(&unknown)
  }

  mutating func receive(_ records: ArraySlice<RecordState>) {
    var unknown: [Row] = []
    for record in records {
      switch record.values {
      case .row(let row): receive(row, &unknown)
      case .pending:
        flush(&unknown)
        if let object = context.storage.registry.object(for: record.id) { objects.append(object) }
      }
    }
    flush(&unknown)
  }

  /// Adds the object of a row, as it is, or the row to those without an object. Their objects are made together.
  private mutating func receive(_ row: Row, _ unknown: inout [Row]) {
    guard group == nil, let object = context.storage.registry.object(for: row.id) else { return unknown.append(row) }
    flush(&unknown)
    objects.append(object)
  }

  private mutating func flush(_ unknown: inout [Row]) {
    guard !unknown.isEmpty else { return }
    context.objects(for: unknown, into: &objects, making, in: group)
    unknown.removeAll(keepingCapacity: true)
  }

  /// Returns the objects, in the order of their records, as a group whose relationships are read together.
  consuming func finish() -> [ManagedObject] {
    if let group { context.storage.groups.enter(group) } else { context.group(objects) }
    return objects
  }
}
