/// A cursor that passes values to a sink directly, without making rows.
///
/// The refinement is optional: for any other ``RowCursor``, Core makes rows and copies their values, see
/// ``ValueSink/put(_:)-(Row)``. With the refinement, a read of values allocates only the memory of the sink. Core uses
/// it for fetches without unsaved changes whose predicate, order and range are exact. Any other fetch is read as rows.
public protocol ValueCursor: RowCursor {
  /// Passes the values of the next records to a sink, in the order of the fetch, as many records as are cheap to read
  /// together. Called by one thread at a time, and never after a result of `false`.
  ///
  /// A store without memory for an array of values calls ``ValueSink/put(_:)-((Int)->AttributeValue)`` for each record.
  ///
  /// - Parameter sink: The same sink in every call.
  /// - Returns: `false` at the end, without a passed record.
  /// - Throws: The sink's error, at once and unchanged; errors of the store.
  func next(into sink: any ValueSink) throws -> Bool
}

/// A receiver of the values of records, without intermediate rows or objects.
///
/// A program passes a sink to ``ManagedObjectContext/read(_:into:)``; a store passes values to it in a ``ValueCursor``.
/// Used by one thread at a time.
public protocol ValueSink: AnyObject {
  /// The slots to read of every record: ``AttributeDescription/slot`` and ``RelationshipDescription/slot`` of
  /// properties of the request's entity, and ``Row/identifierSlot`` for the record's identifier, as a reference.
  /// Constant while the sink is in use.
  var slots: [Int] { get }
  /// The number of calls of ``take(_:)``, failed calls included.
  var count: Int { get }

  /// Receives the values of a record.
  ///
  /// - Parameter values: One initialized value for each of ``slots``, in their order. The caller owns the memory, and
  ///   the sink owns the values: the sink must move or deinitialize all of them before it returns or throws.
  /// - Throws: Any error, which ends the read; the read throws the same error.
  func take(_ values: UnsafeMutablePointer<AttributeValue>) throws
}

extension ValueSink {
  /// Passes the values of a row to ``take(_:)``, for a store that has made rows.
  ///
  /// - Throws: The sink's error.
  public func put(_ row: Row) throws { try put { row.valueOrIdentifier(at: $0) } }

  /// Passes the values of a record to ``take(_:)``, for a store without memory for an array of values.
  ///
  /// - Parameter value: Returns the value of a slot; called for each of ``slots``, in their order.
  /// - Throws: The error of the block, in which case the sink receives nothing; the sink's error.
  public func put(_ value: (_ slot: Int) throws -> AttributeValue) throws {
    let slots = slots
    try withUnsafeTemporaryAllocation(of: AttributeValue.self, capacity: max(slots.count, 1)) { room in
      guard let values = room.baseAddress else { return }
      for index in slots.indices {
        do {
          (values + index).initialize(to: try value(slots[index]))
        } catch {
          values.deinitialize(count: index)
          throw error
        }
      }
      try take(values)
    }
  }
}
