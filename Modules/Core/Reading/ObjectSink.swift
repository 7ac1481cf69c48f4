/// Makes the objects of a fetch.
struct ObjectSink: FetchSink {
  private let context: ManagedObjectContext
  private let making: ManagedObjectContext.ObjectMaking
  /// The group of the fetched rows; `nil` for a fetch with unsaved records.
  private let group: FetchGroup?
  private var objects: [ManagedObject] = []
  var sharesRows: Bool { true }

  init(_ plan: FetchPlan, in context: ManagedObjectContext) {
    self.context = context
    group = plan.needsOverlay ? nil : context.storage.groups.make(.fetch)
    making = plan.returnsObjectsAsFaults && !plan.needsOverlay ? .asFaults : .awakensLater
  }

  mutating func receive(_ rows: [Row]) { context.objects(for: rows, into: &objects, making, in: group) }

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
