/// A reader that compares rows with expected values in place, and returns only possibly different rows.
///
/// An equal row costs no memory and no conversion of its values. For a reader without the refinement, and for a query
/// that the reader refuses, Core fetches the rows and calls ``RowExpectation/put(_:)`` for each row.
public protocol RowComparing: StoreReader {
  /// Compares every row of a query with an expectation, each row once and in any order. The query has no limit and no
  /// offset; its order does not matter.
  ///
  /// - Returns: `false`, without any call of the expectation, if the store cannot translate the query's predicate
  ///   exactly.
  /// - Throws: The first error of the expectation, at once; errors of the store.
  func compare(_ query: StoreQuery, with expectation: any RowExpectation) throws -> Bool
}

/// The expected values of rows, and the receiver of rows that differ.
///
/// The reader makes these calls for each row, in this order: ``verdict(on:key:)``; for ``RowVerdict/compare`` then
/// ``expectedValues``; for ``RowVerdict/take``, and for a row with another value than expected, then ``take(_:)``. Used
/// by one thread. An error of a call ends the comparison.
public protocol RowExpectation: AnyObject {
  /// The slots to read of every row. They are slots of the query's entity.
  var keySlots: [Int] { get }

  /// Returns the treatment of a row.
  ///
  /// - Parameters:
  ///   - id: The identifier of the row's record.
  ///   - key: The row's values in ``keySlots``, in their order.
  func verdict(on id: ManagedObjectID, key: [AttributeValue]) throws -> RowVerdict

  /// The expected values of the row of the last verdict, by slot, for all slots of the query's entity; `nil` to accept
  /// any value of a slot.
  var expectedValues: [AttributeValue?] { get }

  /// Receives the row of the last verdict. A store must pass each row with other values, and may pass a row with the
  /// expected values.
  func take(_ row: Row) throws
}

/// The treatment of a row.
public enum RowVerdict: Sendable, Hashable {
  /// The row is skipped.
  case skip
  /// The row is passed to ``RowExpectation/take(_:)`` if it has another value than expected.
  case compare
  /// The row is passed to ``RowExpectation/take(_:)``.
  case take
}

extension RowExpectation {
  /// Compares a row by the expectation's verdict, for readers that do not compare in place.
  public func put(_ row: Row) throws {
    switch try verdict(on: row.id, key: keySlots.map { row[$0] }) {
    case .skip: return
    case .compare: if row.differs(from: expectedValues) { try take(row) }
    case .take: try take(row)
    }
  }
}

extension Row {
  /// Whether a slot has another value than expected.
  fileprivate func differs(from expected: [AttributeValue?]) -> Bool {
    for (slot, value) in expected.enumerated() {
      if let value, self[slot] != value { return true }
    }
    return false
  }
}
