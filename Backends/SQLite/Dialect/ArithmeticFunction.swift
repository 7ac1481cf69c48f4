import CoherenceCore
import Foundation
import GRDBSQLite

/// The SQL function `coherence_arithmetic(code, left, right)`: the result of a calculation in a condition, as
/// ``Arithmetic`` defines it. The result is null for a missing operand, for a zero divisor, and out of range. Decimals
/// are texts.
///
/// SQLite's own operators turn integers out of range into floating-point numbers and know no decimals.
enum ArithmeticFunction {
  static let name = "coherence_arithmetic"

  private static let kinds = Arithmetic.Number.allCases.count

  /// The calculation as the first argument of the function.
  static func code(of arithmetic: Arithmetic) -> Int {
    (arithmetic.operation.rawValue * kinds + arithmetic.left.rawValue) * kinds + arithmetic.right.rawValue
  }

  private static func arithmetic(_ code: Int) -> Arithmetic? {
    guard let operation = ArithmeticOperator(rawValue: code / (kinds * kinds)),
      let left = Arithmetic.Number(rawValue: code / kinds % kinds),
      let right = Arithmetic.Number(rawValue: code % kinds)
    else { return nil }
    return Arithmetic(operation, left, right)
  }

  /// Registers the function in a connection.
  static func register(in connection: OpaquePointer) -> CInt {
    sqlite3_create_function_v2(
      connection, name, 3, SQLITE_UTF8 | SQLITE_DETERMINISTIC, nil,
      { context, _, arguments in ArithmeticFunction.run(context, arguments) }, nil, nil, nil)
  }

  private static func run(_ context: OpaquePointer?, _ arguments: UnsafeMutablePointer<OpaquePointer?>?) {
    guard let arguments, let arithmetic = arithmetic(Int(sqlite3_value_int64(arguments[0]))) else {
      return sqlite3_result_null(context)
    }
    switch arithmetic.value(value(arguments[1]), value(arguments[2])) {
    case .int(let value): sqlite3_result_int64(context, value)
    case .double(let value): sqlite3_result_double(context, value)
    case .decimal(let value):
      let text = value.description
      sqlite3_result_text(context, text, CInt(text.utf8.count), SQLiteDestructor.copying)
    default: sqlite3_result_null(context)
    }
  }

  private static func value(_ argument: OpaquePointer?) -> AttributeValue {
    switch sqlite3_value_type(argument) {
    case SQLITE_INTEGER: return .int(sqlite3_value_int64(argument))
    case SQLITE_FLOAT: return .double(sqlite3_value_double(argument))
    case SQLITE_TEXT:
      guard let start = sqlite3_value_text(argument) else { return .null }
      let bytes = UnsafeBufferPointer(start: start, count: Int(sqlite3_value_bytes(argument)))
      return Decimal(string: String(decoding: bytes, as: UTF8.self)).map(AttributeValue.decimal) ?? .null
    default: return .null
    }
  }
}
