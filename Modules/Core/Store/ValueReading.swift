/// Takes the values of records from a reader, without rows in between.
package protocol ValueSink: AnyObject {
  /// The slots to read of every record. They are slots of the query's entity.
  var slots: [Int] { get }
  /// How many records were taken.
  var count: Int { get }

  /// Takes the values of a record.
  ///
  /// - Parameter values: One for each slot asked for, in their order. The memory is the reader's, the values in it are
  ///   the sink's: it is left deinitialised, also when the sink throws.
  func take(_ values: UnsafeMutablePointer<AttributeValue>) throws
}

/// A cursor that hands out values where it has them, instead of making rows of them first. Without it, rows are read and
/// their values are copied.
package protocol ValueCursor: RowCursor {
  /// Hands out the values of some records, as many as are cheap to get at once. Returns `false`, having handed out
  /// nothing, at the end.
  ///
  /// - Throws: What the sink throws, at once; errors of the store.
  func next(into sink: any ValueSink) throws -> Bool
}

extension ValueSink {
  /// Puts the values of a row to the sink.
  package func put(_ row: Row) throws { try put { row[$0] } }

  /// Puts values to the sink.
  ///
  /// - Parameter value: The value of a slot.
  package func put(_ value: (_ slot: Int) -> AttributeValue) throws {
    let slots = slots
    try withUnsafeTemporaryAllocation(of: AttributeValue.self, capacity: slots.count) { room in
      guard let values = room.baseAddress else { return }
      for place in slots.indices { (values + place).initialize(to: value(slots[place])) }
      try take(values)
    }
  }
}
