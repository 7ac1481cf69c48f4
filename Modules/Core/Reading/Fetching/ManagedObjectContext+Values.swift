// Reads of values without objects and, if the store supports it, without rows.

extension ManagedObjectContext {
  /// Passes values of the records that satisfy a request to a sink, in the request's order and range.
  ///
  /// The values are the values of the objects that ``fetch(_:)`` would return: unsaved changes count unless the request
  /// excludes them. Makes no objects, and no rows if the store's cursor is a ``ValueCursor`` and no unsaved change
  /// matters. The request's `relationshipsForPrefetching` and `returnsObjectsAsFaults` have no effect. To be called
  /// inside the context; the call waits for the store.
  ///
  /// - Parameter sink: Receives the records on the calling thread while the method runs.
  /// - Throws: As ``fetch(_:)``; ``ErrorCode/invalidFetchRequest`` for a slot outside of the request's entity; errors
  ///   of the sink, which end the read.
  public final func read<R: ManagedObject>(_ request: FetchRequest<R>, into sink: any ValueSink) throws {
    try operating {
      let countBefore = sink.count
      try measured(StackOperation(.fetch, name(of: request)), ifFailed: .fetch(records: 0)) {
        try reading(request) { plan in
          try check(sink.slots, of: plan.query.entity)
          var values = RecordValueSink(sink, self)
          try FetchExecution(plan, in: self).run(into: &values)
        }
      } as: { _ in
        .fetch(records: sink.count - countBefore)
      }
    }
  }

  /// Throws for a slot outside of an entity, because stores read values without a check of the slots.
  final func check(_ slots: [Int], of entity: EntityDescription) throws(CoherenceError) {
    guard let slot = slots.first(where: { $0 != Row.identifierSlot && ($0 < 0 || $0 >= entity.slotCount) }) else {
      return
    }
    throw CoherenceError(
      .invalidFetchRequest,
      "A sink reads slot \(slot), but '\(entity.name)' has \(entity.slotCount) slots; use the slots of its properties.")
  }

  /// Notes that the user gets a temporary identifier as a value. The identifier then leads to the record after its save
  /// too.
  final func exposeTemporaryID(_ id: ManagedObjectID) {
    guard let object = storage.registry.object(for: id) else {
      // The record is a parent's, and this context has no object of it.
      storage.exposedTemporaryIDs.insert(id)
      return
    }
    object.exposeTemporaryID()
  }
}

/// Passes the values of records to a ``ValueSink``: values of saved rows unchanged, and values of unsaved records with
/// their temporary identifiers exposed.
struct RecordValueSink: FetchSink {
  private let values: any ValueSink
  private let context: ManagedObjectContext
  var sharesRows: Bool { false }

  init(_ values: any ValueSink, _ context: ManagedObjectContext) {
    self.values = values
    self.context = context
  }

  func receive(_ rows: [Row]) throws { for row in rows { try values.put(row) } }

  func receive(_ records: ArraySlice<RecordState>) throws {
    for record in records {
      try values.put { slot in
        let value = slot == Row.identifierSlot ? .reference(record.id) : record[slot]
        if case .reference(let id) = value, id.isTemporaryID { context.exposeTemporaryID(id) }
        return value
      }
    }
  }

  func receiveAll(from cursor: any RowCursor, in context: ManagedObjectContext) throws -> Bool {
    guard let cursor = cursor as? any ValueCursor else { return false }
    try context.exhaust(cursor) { try cursor.next(into: values) }
    return true
  }
}
