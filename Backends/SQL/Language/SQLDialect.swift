package import CoherenceCore

/// The differences of an engine's SQL from that of other engines.
package protocol SQLDialect: Sendable {
  // MARK: Parameters

  /// The placeholder of a parameter by its number; the first is 1.
  func placeholder(_ number: Int) -> String
  /// Whether a list of values is one parameter, `= ANY($1)`; otherwise each value is one, `IN (?, ?)`.
  var bindsArrays: Bool { get }
  /// The greatest number of values that a statement can bind.
  var maximumBindings: Int { get }
  /// The number of values outside lists that the engine prepares fast. Core evaluates the conditions beyond it.
  var maximumValues: Int { get }

  /// The greatest depth of nested conditions, in entries of the engine's parser stack.
  var nestingRoom: Int { get }
  /// The greatest number of tables in one FROM.
  var maximumJoins: Int { get }
  /// The greatest number of columns of a table.
  var maximumColumns: Int { get }

  // MARK: Names

  /// The length in bytes of the longest name that the engine does not shorten.
  var maximumNameBytes: Int { get }
  /// Returns the identity of a name. The engine takes names with equal identities for the same name.
  func identity(ofName name: String) -> String
  /// Whether the engine refuses a name, even in quotation marks, or the backend has a table of the name.
  func isReserved(_ name: String) -> Bool

  // MARK: Definitions

  /// A column's type, with the collation that makes its order the framework's.
  func columnType(_ storage: StorageType) -> String
  /// The text after the column list of a link table.
  var linkTableSuffix: String { get }
  /// Whether constraints are added to and dropped from existing tables. Otherwise foreign keys are part of the column
  /// and are changed by replacing it.
  var altersConstraints: Bool { get }
  /// The text after a column in the definition of an index, so that the index has the order of fetches.
  var indexColumnSuffix: SQLFragment { get }

  /// A value as constant text, for definitions, which cannot have parameters; `nil` for a value that the engine does
  /// not take there.
  func constant(_ value: AttributeValue, as storage: StorageType) -> SQLFragment?

  // MARK: Expressions

  /// A value computed from a column, with the collation of the column's type.
  func collated(_ value: SQLFragment, as storage: StorageType) -> SQLFragment
  /// A value converted to another representation. The engine may refuse a value out of that representation's range.
  func cast(_ value: SQLFragment, to storage: StorageType) -> SQLFragment
  /// A boolean constant, as the operand of AND and OR.
  func boolean(_ value: Bool) -> SQLFragment
  /// The operator that tests whether two operands, either of which may be null, are the same.
  var nullSafeEqual: SQLFragment { get }
  /// The operator that tests whether two operands, either of which may be null, differ.
  var nullSafeDifferent: SQLFragment { get }
  /// The text after a column in ORDER BY. It puts missing values first in ascending order and last in descending order.
  func orderSuffix(ascending: Bool) -> SQLFragment
  /// Whether the text contains the needle, which is not empty, byte for byte; null or false for a missing text.
  func contains(_ text: SQLFragment, _ needle: String) -> SQLFragment
  /// Whether the text ends with the needle, which is not empty, byte for byte; null or false for a missing text.
  func endsWith(_ text: SQLFragment, _ needle: String) -> SQLFragment
  /// The text without the differences that the options ignore, exactly as Core's `folded` returns it; `nil` if only the
  /// evaluator can remove them.
  func folded(_ text: SQLFragment, _ options: StringOptions) -> SQLFragment?

  /// A text that compares with folded constants as the folded text does: by equality, and by searches for a constant in
  /// the text. `nil` if only the evaluator can compare exactly.
  func folded(_ text: SQLFragment, _ options: StringOptions, comparing constants: FoldedConstants) -> SQLFragment?
  /// Whether the whole text fits a pattern; `nil` to leave it to the evaluator.
  func fits(_ text: SQLFragment, _ pattern: SQLTextPattern) -> SQLFragment?

  // MARK: Aggregates

  /// The sum of numbers: exact for integers and decimals, in the engine's order for floating-point numbers; null
  /// without values, and for floating-point numbers without a sum.
  ///
  /// - Parameter neverFails: Whether the engine must return a number, for a comparison, instead of failing for a sum
  ///   out of its range or out of the range of Core's decimals.
  func sum(_ value: SQLFragment, of storage: StorageType, neverFails: Bool) -> SQLFragment
  /// The sum of numbers that a save writes into a record. Only a sum of integers or decimals out of the range of its
  /// type fails; the order of the numbers, and sums on the way to the result, make no difference. A sum of
  /// floating-point numbers out of range is infinite. Null as in ``sum(_:of:neverFails:)``.
  func storedSum(_ value: SQLFragment, of storage: StorageType) -> SQLFragment
  /// The least or greatest value of a group; null without values.
  func extreme(_ value: SQLFragment, of storage: StorageType, isMaximum: Bool) -> SQLFragment
  /// The floating-point number nearest to a number.
  func nearestDouble(_ value: SQLFragment) -> SQLFragment
  /// The quotient of a sum of values and their number, as a floating-point number: null without a sum.
  ///
  /// - Parameters:
  ///   - sum: The sum as a floating-point number.
  ///   - count: The number of values, as an integer.
  ///   - storage: The type of the values.
  func average(ofSum sum: SQLFragment, count: SQLFragment, of storage: StorageType) -> SQLFragment
  /// Whether a subquery in FROM may refer to the tables before it, and the engine retains its results by the values to
  /// which it refers.
  var retainsLateralResults: Bool { get }
  /// The value that a query returns for a key; `nil` if only a subquery can compute it. A statement runs the query once
  /// for each key.
  ///
  /// - Parameter query: The query, with the parameter `?1` for the key.
  func sharedValue(of query: SQLFragment, key: SQLFragment) -> SQLFragment?

  // MARK: Arithmetic

  /// The result of a calculation with two numbers in a condition, null where ``Arithmetic`` has no result; `nil` to
  /// leave the calculation to the evaluator.
  func arithmetic(_ arithmetic: Arithmetic, _ left: SQLFragment, _ right: SQLFragment) -> SQLFragment?

  // MARK: Comparisons of types

  /// Whether the engine compares values of the two representations by their exact numbers.
  func comparesExactly(_ left: StorageType, _ right: StorageType) -> Bool
}

extension SQLDialect {
  /// A name in quotes. The one place where names become SQL.
  package func quoted(_ name: String) -> String { "\"" + name.doubling(UInt8(ascii: "\"")) + "\"" }

  /// A text constant, for definitions, which cannot have parameters.
  package func literal(_ text: String) -> SQLFragment {
    SQLFragment(.text("'" + text.doubling(UInt8(ascii: "'")) + "'"))
  }

  /// Bytes in hexadecimal digits.
  package func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
    let digits = Array("0123456789ABCDEF")
    return String(bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
  }

  package func cast(_ value: SQLFragment, to storage: StorageType) -> SQLFragment {
    "CAST(\(value) AS \(SQLFragment(.text(columnType(storage)))))"
  }
  package func collated(_ value: SQLFragment, as storage: StorageType) -> SQLFragment { value }
  package func folded(_ text: SQLFragment, _ options: StringOptions) -> SQLFragment? { nil }
  package func folded(
    _ text: SQLFragment, _ options: StringOptions, comparing constants: FoldedConstants
  ) -> SQLFragment? {
    folded(text, options)
  }
  package func fits(_ text: SQLFragment, _ pattern: SQLTextPattern) -> SQLFragment? { nil }
  package var retainsLateralResults: Bool { false }
  package func sharedValue(of query: SQLFragment, key: SQLFragment) -> SQLFragment? { nil }
  package var nestingRoom: Int { .max }
  package var maximumJoins: Int { .max }
  package var linkTableSuffix: String { "" }
  package var indexColumnSuffix: SQLFragment { "" }

  package func comparesExactly(_ left: StorageType, _ right: StorageType) -> Bool {
    left == right || (left.isInteger && right.isInteger) || (left.isBinaryFloat && right.isBinaryFloat)
  }
}

extension String {
  /// The text with each quotation mark doubled.
  ///
  /// The marks are found by bytes, as the engines find them, and not by characters: a combining mark joins the
  /// quotation mark before it to one character, which differs from the quotation mark.
  fileprivate func doubling(_ mark: UInt8) -> String {
    // The names of all statements pass here, and names with marks are rare.
    guard utf8.contains(mark) else { return self }
    var bytes: [UInt8] = []
    for byte in utf8 {
      if byte == mark { bytes.append(mark) }
      bytes.append(byte)
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

extension StorageType {
  /// Whether the values are integers.
  package var isInteger: Bool { self == .int16 || self == .int32 || self == .int64 }
  /// Whether the values are binary floating-point numbers.
  package var isBinaryFloat: Bool { self == .float || self == .double }
}
