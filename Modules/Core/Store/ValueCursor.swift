/// A cursor that passes values to a sink directly, without making rows.
///
/// A store may leave this refinement of ``RowCursor`` out: Core then makes rows and copies their values, as
/// ``ValueSink/put(_:)-(Row)`` does. With the refinement, a read of values allocates only the memory that the sink
/// allocates. Core uses it for fetches whose predicate, order and range are exact and that no unsaved change affects;
/// all other fetches are read as rows.
public protocol ValueCursor: RowCursor {
  /// Passes the values of some records, in the order of the fetch, as many as are cheap to get at once. Called from one
  /// thread at a time, never after it returned `false`.
  ///
  /// A store without memory for an array of values calls ``ValueSink/put(_:)-((Int)->AttributeValue)`` for each record.
  ///
  /// - Parameter sink: The same sink in every call.
  /// - Returns: `false`, having passed nothing, at the end.
  /// - Throws: The sink's error, at once and unchanged; errors of the store.
  func next(into sink: any ValueSink) throws -> Bool
}

/// A receiver of the values of records, without rows or objects in between.
///
/// A program passes a sink to ``ManagedObjectContext/read(_:into:)``; a store passes values to it in a ``ValueCursor``.
/// Used by one thread at a time.
public protocol ValueSink: AnyObject {
  /// The slots to read of every record: ``AttributeDescription/slot`` and ``RelationshipDescription/slot`` of
  /// properties of the request's entity, and ``Row/identifierSlot`` for the record's identifier, as a reference. The
  /// same as long as the sink is used.
  var slots: [Int] { get }
  /// The number of records that ``take(_:)`` was called for, also of records that it rejected with an error.
  var count: Int { get }

  /// Takes the values of a record.
  ///
  /// - Parameter values: One value for each of ``slots``, in their order, initialised. The memory belongs to the caller
  ///   and the values in it to the sink: on return it is deinitialised, also when the sink throws.
  /// - Throws: Any error. It ends the read, which throws it on.
  func take(_ values: UnsafeMutablePointer<AttributeValue>) throws
}

extension ValueSink {
  /// Passes the values of a row to the sink.
  ///
  /// - Throws: The sink's error.
  public func put(_ row: Row) throws { try put { row.valueOrIdentifier(at: $0) } }

  /// Passes the values of a record to the sink.
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
