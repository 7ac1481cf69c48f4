import CoherenceCore
import CoherenceSQL
import Foundation

/// SQLite's SQL.
struct SQLiteDialect: SQLDialect {
  /// The collation of decimals, which are kept as text: by number.
  static let decimalCollation = "coherence_decimal"

  func placeholder(_ number: Int) -> String { "?" }
  var bindsArrays: Bool { false }
  /// The greatest number of parameters of a statement.
  static let maximumParameters = 32_766
  // The difference is for values outside of conditions.
  var maximumBindings: Int { Self.maximumParameters - 766 }
  // To prepare a statement, SQLite compares each value with all values before it: 4,000 take 0.2 s, 15,000 take 3 s.
  var maximumValues: Int { 4_000 }

  // The parser has a stack of 100 entries; a comparison with its functions takes up to 12 of them.
  var nestingRoom: Int { 80 }
  var maximumJoins: Int { 63 }
  var maximumColumns: Int { 2_000 }

  // SQLite has no limit; this one keeps statements readable.
  var maximumNameBytes: Int { 1_000 }
  func identity(ofName name: String) -> String {
    String(decoding: name.utf8.map { (0x41...0x5A).contains($0) ? $0 + 0x20 : $0 }, as: UTF8.self)
  }
  /// The temporary table of the keys of a batch delete, which hides a table of the same name.
  static let keyTable = "$chosen"
  func isReserved(_ name: String) -> Bool {
    let identity = identity(ofName: name)
    return identity.utf8.starts(with: "sqlite_".utf8) || identity == Self.keyTable
  }

  func columnType(_ storage: StorageType) -> String {
    switch storage {
    case .int16, .int32, .int64, .reference: "INTEGER"
    case .bool: "BOOLEAN_INTEGER"
    case .date: "TIMESTAMP_INTEGER"
    // For a type name with REAL or DOUB, SQLite would store -0.0 as the integer 0. A name with BLOB keeps every value.
    case .float, .double: "NUMBER_BLOB"
    case .decimal: "DECIMAL_TEXT COLLATE \(Self.decimalCollation)"
    case .string: "TEXT"
    case .data: "BLOB"
    case .uuid: "UUID_BLOB"
    }
  }
  var linkTableSuffix: String { " WITHOUT ROWID" }
  var altersConstraints: Bool { false }

  func constant(_ value: AttributeValue, as storage: StorageType) -> SQLFragment? {
    func text(_ text: String) -> SQLFragment { SQLFragment(.text(text)) }
    switch value {
    case .null, .reference: return nil
    case .bool(let value): return value ? "1" : "0"
    // SQLite reads the digits of the least integer as a real number.
    case .int(let value): return value == .min ? nil : text("\(value)")
    // In rows older than the column SQLite reads a default without fraction as an integer, which has no -0.0.
    case .double(let value): return value.isFinite && !(value == 0 && value.sign == .minus) ? text("\(value)") : nil
    case .date(let value): return value.microseconds == .min ? nil : text("\(value.microseconds)")
    case .string(let value): return literal(value)
    case .decimal(let value): return literal(value.description)
    case .data(let value): return text("X'\(hexadecimal(value))'")
    case .uuid(let value): return text("X'\(withUnsafeBytes(of: value.uuid) { hexadecimal($0) })'")
    }
  }

  // An expression, unlike a plain column, has no collation of its own.
  func collated(_ value: SQLFragment, as storage: StorageType) -> SQLFragment {
    storage == .decimal ? "\(value) COLLATE \(SQLFragment(.text(Self.decimalCollation)))" : value
  }
  // A cast needs a plain type. The type names of columns have an affinity that converts no value.
  func cast(_ value: SQLFragment, to storage: StorageType) -> SQLFragment {
    switch storage {
    case .int16, .int32, .int64, .bool, .date, .reference: "CAST(\(value) AS INTEGER)"
    case .float, .double: "CAST(\(value) AS REAL)"
    case .decimal, .string: "CAST(\(value) AS TEXT)"
    case .data, .uuid: "CAST(\(value) AS BLOB)"
    }
  }
  func boolean(_ value: Bool) -> SQLFragment { value ? "1" : "0" }
  var nullSafeEqual: SQLFragment { "IS" }
  var nullSafeDifferent: SQLFragment { "IS NOT" }
  // In SQLite, null is less than every value: first in ascending order, last in descending order.
  func orderSuffix(ascending: Bool) -> SQLFragment { "" }
  func contains(_ text: SQLFragment, _ needle: String) -> SQLFragment { "instr(\(text), \(text: needle)) > 0" }
  func endsWith(_ text: SQLFragment, _ needle: String) -> SQLFragment {
    "substr(\(text), \(number: -needle.unicodeScalars.count)) = \(text: needle)"
  }
  func folded(_ text: SQLFragment, _ options: StringOptions) -> SQLFragment? {
    "\(SQLFragment(.text(FoldFunction.name)))(\(text), \(number: options.rawValue))"
  }
  func fits(_ text: SQLFragment, _ pattern: SQLTextPattern) -> SQLFragment? {
    let isConfused = pattern.parts.contains {
      if case .character(let scalar) = $0 { Self.confusedInPatterns.contains(scalar) } else { false }
    }
    if isConfused { return nil }
    // In brackets, a character that means something stands for itself.
    let glob = pattern.text(one: "?", any: "*") { "*?[".unicodeScalars.contains($0) ? "[\($0)]" : "\($0)" }
    return glob.utf8.count < Self.longestPattern ? "\(text) GLOB \(text: glob)" : nil
  }
  // Where it compares a text with a pattern, SQLite takes U+FFFE and U+FFFF for the replacement character U+FFFD.
  private static let confusedInPatterns: ClosedRange<Unicode.Scalar> = "\u{FFFD}"..."\u{FFFF}"
  // SQLite refuses patterns of more than 50,000 bytes.
  private static let longestPattern = 50_000

  // SQLite's own sum fails for integers out of range, and adds texts as floating-point numbers.
  func sum(_ value: SQLFragment, of storage: StorageType, neverFails: Bool) -> SQLFragment {
    guard storage == .decimal || neverFails && storage.isInteger else { return "SUM(\(value))" }
    return "\(SQLFragment(.text(neverFails ? SumFunction.name : SumFunction.exactName)))(\(value))"
  }
  // SQLite's own sum also fails when further integers would bring it back into range.
  func storedSum(_ value: SQLFragment, of storage: StorageType) -> SQLFragment {
    guard storage.isInteger else { return sum(value, of: storage, neverFails: false) }
    return "\(SQLFragment(.text(SumFunction.exactName)))(\(value))"
  }
  func extreme(_ value: SQLFragment, of storage: StorageType, isMaximum: Bool) -> SQLFragment {
    isMaximum ? "MAX(\(value))" : "MIN(\(value))"
  }
  func nearestDouble(_ value: SQLFragment) -> SQLFragment { "CAST(\(value) AS REAL)" }
  func average(ofSum sum: SQLFragment, count: SQLFragment, of storage: StorageType) -> SQLFragment {
    "\(sum) / \(count)"
  }
  func sharedValue(of query: SQLFragment, key: SQLFragment) -> SQLFragment? {
    let statement = query.rendered(by: self)
    // The query is a constant of the statement, and has no parameter but the key.
    guard statement.bindings.isEmpty else { return nil }
    return "\(SQLFragment(.text(SharedValueFunction.name)))(\(literal(statement.text)), \(key))"
  }

  func arithmetic(_ arithmetic: Arithmetic, _ left: SQLFragment, _ right: SQLFragment) -> SQLFragment? {
    let code = ArithmeticFunction.code(of: arithmetic)
    return "\(SQLFragment(.text(ArithmeticFunction.name)))(\(number: code), \(left), \(right))"
  }
}
