import CoherenceCore
import CoherenceSQL
import Foundation

/// The SQL of PostgreSQL: its types, literals, limits and reserved names.
///
/// Types are named by keyword or with their schema. Each table is a type of its name too: without a schema, the table
/// of an entity `text` would hide the server's type.
struct PostgreSQLDialect: SQLDialect {
  func placeholder(_ number: Int) -> String { "$\(number)" }
  var bindsArrays: Bool { true }
  /// The greatest number of parameters of a statement, which the protocol counts in 16 bits.
  static let maximumParameters = 65_535
  // The difference is for values outside of conditions.
  var maximumBindings: Int { Self.maximumParameters - 535 }
  var maximumValues: Int { maximumBindings }

  var maximumColumns: Int { 1_600 }

  var maximumNameBytes: Int { 63 }
  func identity(ofName name: String) -> String { name }
  func isReserved(_ name: String) -> Bool {
    name.isEmpty || name == Self.tableOfCommits || Self.systemColumns.contains(name)
  }
  /// The name of the table with a row for each writing session.
  static let tableOfCommits = "$commits"
  private static let systemColumns: Set = ["tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"]

  func columnType(_ storage: StorageType) -> String {
    switch storage {
    case .int16: "smallint"
    case .int32: "integer"
    case .int64, .reference: "bigint"
    case .bool: "boolean"
    case .float: "real"
    case .double: "double precision"
    case .decimal: "numeric"
    case .string: "pg_catalog.text COLLATE pg_catalog.\"C\""
    case .data: "pg_catalog.bytea"
    case .date: "timestamp with time zone"
    case .uuid: "pg_catalog.uuid"
    }
  }
  var altersConstraints: Bool { true }
  // Read backwards, the index has the descending order, with missing values last.
  var indexColumnSuffix: SQLFragment { " NULLS FIRST" }

  func constant(_ value: AttributeValue, as storage: StorageType) -> SQLFragment? {
    func text(_ text: String) -> SQLFragment { SQLFragment(.text(text)) }
    switch value {
    case .null, .reference: return nil
    case .bool(let value): return value ? "TRUE" : "FALSE"
    case .int(let value): return text("\(value)")
    case .double(let value): return value.isFinite ? text("CAST('\(value)' AS double precision)") : nil
    case .date(let value): return PostgreSQLBinary.isStorable(value) ? text(Self.constant(value)) : nil
    case .string(let value): return literal(value)
    case .decimal(let value): return text("CAST('\(value.description)' AS numeric)")
    case .data(let value): return text("CAST('\\x\(hexadecimal(value))' AS pg_catalog.bytea)")
    case .uuid(let value): return text("CAST('\(value.uuidString)' AS pg_catalog.uuid)")
    }
  }

  /// A point in time. A server before version 15 takes no number beyond 32 bits in an interval, so the interval has
  /// several units. The days are those of UTC, in every time zone of the session.
  private static func constant(_ value: Timestamp) -> String {
    let (days, rest) = value.microseconds.quotientAndRemainder(dividingBy: 86_400_000_000)
    let (seconds, microseconds) = rest.quotientAndRemainder(dividingBy: 1_000_000)
    let interval = "\(days) days \(seconds) seconds \(microseconds) microseconds"
    return "pg_catalog.timezone('UTC', TIMESTAMP 'epoch' + INTERVAL '\(interval)')"
  }

  func boolean(_ value: Bool) -> SQLFragment { value ? "TRUE" : "FALSE" }
  var nullSafeEqual: SQLFragment { "IS NOT DISTINCT FROM" }
  var nullSafeDifferent: SQLFragment { "IS DISTINCT FROM" }
  // PostgreSQL sorts null after every value by default.
  func orderSuffix(ascending: Bool) -> SQLFragment { ascending ? " NULLS FIRST" : " NULLS LAST" }
  // The server only keeps sound UTF-8, in which a search by characters and one by bytes find the same.
  func contains(_ text: SQLFragment, _ needle: String) -> SQLFragment {
    "pg_catalog.strpos(\(text), \(text: needle)) > 0"
  }
  func endsWith(_ text: SQLFragment, _ needle: String) -> SQLFragment {
    "pg_catalog.right(\(text), \(number: needle.unicodeScalars.count)) = \(text: needle)"
  }

  func fits(_ text: SQLFragment, _ pattern: SQLTextPattern) -> SQLFragment? {
    let text = "\(text) LIKE " as SQLFragment
    return
      "\(text)\(text: pattern.text(one: "_", any: "%") { "%_\\".unicodeScalars.contains($0) ? "\\\($0)" : "\($0)" })"
  }
  func folded(_ text: SQLFragment, _ options: StringOptions, comparing constants: FoldedConstants) -> SQLFragment? {
    PostgreSQLFolding.by(options).text(text, comparing: constants)
  }

  // Infinities of both signs have no sum; "not a number" would be the greatest of all numbers to the server.
  func sum(_ value: SQLFragment, of storage: StorageType, neverFails: Bool) -> SQLFragment {
    guard storage.isBinaryFloat else {
      let sum: SQLFragment = "pg_catalog.sum(\(value))"
      if neverFails { return sum }
      // The server adds 64-bit integers as decimals.
      return storage == .decimal ? failingForManyDigits(sum) : storage == .int64 ? cast(sum, to: .int64) : sum
    }
    let number: SQLFragment = "pg_catalog.sum(CAST(\(value) AS double precision))"
    return "NULLIF(\(number), CAST('NaN' AS double precision))"
  }
  // The server fails for an infinite sum of finite numbers. So numbers above a limit are added up in a smaller scale: no
  // sum of the other numbers, and no sum in the smaller scale, is out of range.
  func storedSum(_ value: SQLFragment, of storage: StorageType) -> SQLFragment {
    guard storage.isBinaryFloat else { return sum(value, of: storage, neverFails: false) }
    let number: SQLFragment = "CAST(\(value) AS double precision)"
    let limit = Self.double(0x1p900)
    let small: SQLFragment = "pg_catalog.sum(\(number)) FILTER (WHERE pg_catalog.abs(\(number)) < \(limit))"
    let large: SQLFragment = """
      pg_catalog.sum(\(number) * \(Self.double(0x1p-64))) FILTER (WHERE pg_catalog.abs(\(number)) >= \(limit))
      """
    let total: SQLFragment = """
      CASE WHEN \(large) IS NULL THEN \(small) \
      WHEN pg_catalog.abs(\(large)) >= \(Self.double(0x1p960)) THEN \(large) * CAST('Infinity' AS double precision) \
      ELSE \(large) * \(Self.double(0x1p64)) + COALESCE(\(small), \(Self.double(0))) END
      """
    return "NULLIF(\(total), CAST('NaN' AS double precision))"
  }
  private static func double(_ number: Double) -> SQLFragment {
    SQLFragment(.text("CAST('\(number)' AS double precision)"))
  }
  // The server's decimals have more digits than Core's. For such a number, the server fails to convert an integer. The
  // first test is cheap and suffices for most sums. The server computes equal aggregates once.
  private func failingForManyDigits(_ sum: SQLFragment) -> SQLFragment {
    let text: SQLFragment = "CAST(pg_catalog.abs(\(sum)) AS pg_catalog.text)"
    let digits: SQLFragment = "pg_catalog.btrim(pg_catalog.replace(\(text), '.', ''), '0')"
    return """
      (CASE WHEN \(sum) BETWEEN -1000000000000000000 AND 1000000000000000000 AND pg_catalog.scale(\(sum)) <= 18 \
      OR pg_catalog.length(\(digits)) <= \(number: DecimalSum.greatestDigitCount) \
      THEN \(sum) ELSE CAST(0 * \(sum) + 3000000000 AS integer) END)
      """
  }
  // The server has no least and greatest of these types.
  func extreme(_ value: SQLFragment, of storage: StorageType, isMaximum: Bool) -> SQLFragment {
    switch storage {
    case .bool:
      return isMaximum ? "pg_catalog.bool_or(\(value))" : "pg_catalog.bool_and(\(value))"
    case .uuid, .data:
      let direction: SQLFragment = isMaximum ? " DESC" : ""
      let list: SQLFragment = "pg_catalog.array_agg(\(value) ORDER BY \(value)\(direction))"
      return "(\(list) FILTER (WHERE \(value) IS NOT NULL))[1]"
    default:
      return isMaximum ? "pg_catalog.max(\(value))" : "pg_catalog.min(\(value))"
    }
  }
  func nearestDouble(_ value: SQLFragment) -> SQLFragment { "CAST(\(value) AS double precision)" }
  // The server fails for a quotient that is rounded to zero. A tiny sum is a multiple of the smallest number, and its
  // quotient is rounded to zero if the multiple is at most half of the count. Both sides are compared in another scale.
  func average(ofSum sum: SQLFragment, count: SQLFragment, of storage: StorageType) -> SQLFragment {
    guard storage.isBinaryFloat else { return "\(sum) / \(count)" }
    let size: SQLFragment = "pg_catalog.abs(\(sum))"
    return """
      CASE WHEN \(size) >= \(Self.double(0x1p-1000)) THEN \(sum) / \(count) \
      WHEN \(size) * \(Self.double(0x1p1000)) <= \(count) * \(Self.double(0x1p-75)) \
      THEN \(sum) * \(Self.double(0)) ELSE \(sum) / \(count) END
      """
  }
  // The server retains the results when it expects the same values often.
  var retainsLateralResults: Bool { true }

  // The server fails for integers and binary numbers out of range, and keeps more digits of decimals than Core.
  // Integers are calculated as decimals, and a result out of range becomes null.
  func arithmetic(_ arithmetic: Arithmetic, _ left: SQLFragment, _ right: SQLFragment) -> SQLFragment? {
    guard arithmetic.result == .integer else { return nil }
    let (left, right) = ("CAST(\(left) AS numeric)" as SQLFragment, "CAST(\(right) AS numeric)" as SQLFragment)
    let result: SQLFragment =
      switch arithmetic.operation {
      case .add: "\(left) + \(right)"
      case .subtract: "\(left) - \(right)"
      case .multiply: "\(left) * \(right)"
      case .divide: "pg_catalog.div(\(left), NULLIF(\(right), 0))"
      case .remainder: "pg_catalog.mod(\(left), NULLIF(\(right), 0))"
      }
    let number = SQLFragment.name("$n")
    return """
      (SELECT CASE WHEN \(number) BETWEEN -9223372036854775808 AND 9223372036854775807 \
      THEN CAST(\(number) AS bigint) END FROM (SELECT \(result) AS \(number)) AS \(name: "$c"))
      """
  }
}
