/// A reader that compares rows with their expected values in place, and hands out only possibly different rows.
///
/// An equal row costs neither memory nor the making of its values then. Without it, Core fetches the rows and puts them
/// to the expectation one after the other, as ``RowExpectation/put(_:)`` does.
public protocol RowComparing: StoreReader {
  /// Puts every row that a query finds, each once and in any order, to an expectation. The query has no limit and no
  /// offset; its order does not matter.
  ///
  /// - Returns: Whether it did: `false`, with nothing put to the expectation, when the store cannot translate the
  ///   query's predicate exactly.
  /// - Throws: What the expectation throws, at once; errors of the store.
  func compare(_ query: StoreQuery, with expectation: any RowExpectation) throws -> Bool
}

/// What rows are expected to be.
///
/// Asked for each row, in this order: ``verdict(on:key:)``; for ``RowVerdict/compare`` then ``expectedValues``; for
/// ``RowVerdict/take``, and for a row with another value than expected, then ``take(_:)``. Used by one thread.
public protocol RowExpectation: AnyObject {
  /// The slots to read of every row. They are slots of the query's entity.
  var keySlots: [Int] { get }

  /// Decides how a row is treated.
  ///
  /// - Parameter key: The row's values in ``keySlots``, in their order.
  func verdict(on id: ManagedObjectID, key: [AttributeValue]) throws -> RowVerdict

  /// The values expected of the row that the last verdict was on, by slot, for all slots of the query's entity; `nil`
  /// where any value will do.
  var expectedValues: [AttributeValue?] { get }

  /// Takes the row that the last verdict was on. A store may hand out a row with the expected values; it never keeps
  /// back any other.
  func take(_ row: Row) throws
}

/// How a row put to an expectation is treated.
public enum RowVerdict: Sendable, Hashable {
  /// Nothing.
  case pass
  /// It is handed out when it has another value than expected.
  case compare
  /// It is handed out.
  case take
}

extension RowExpectation {
  /// Puts a row to the expectation.
  public func put(_ row: Row) throws {
    switch try verdict(on: row.id, key: keySlots.map { row[$0] }) {
    case .pass: return
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
