import CoherenceCore
import Foundation
import GRDBSQLite

/// The SQL aggregates `coherence_sum(value)` and `coherence_exact_sum(value)`: the exact sum of integers, or of
/// decimals kept as text; null without values.
///
/// A sum of decimals is a text. For a sum that a 64-bit integer or a decimal cannot hold, `coherence_sum` returns the
/// nearest floating-point number, and `coherence_exact_sum` fails. The number takes the place of decimals as a
/// ``RoundedDecimal``, so that comparisons put it among the decimals. Both functions fail for values that are such
/// numbers themselves.
enum SumFunction {
  static let name = "coherence_sum"
  static let exactName = "coherence_exact_sum"
  /// The message of the failure of `coherence_exact_sum`.
  static let overflowMessage = "sum out of range"

  /// Registers the functions in a connection.
  static func register(in connection: OpaquePointer) -> CInt {
    let code = sqlite3_create_function_v2(
      connection, name, 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, nil, nil,
      { context, _, arguments in SumFunction.add(context, arguments) },
      { context in SumFunction.finish(context, failsForRoundedSum: false) }, nil)
    guard code == SQLITE_OK else { return code }
    return sqlite3_create_function_v2(
      connection, exactName, 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, nil, nil,
      { context, _, arguments in SumFunction.add(context, arguments) },
      { context in SumFunction.finish(context, failsForRoundedSum: true) }, nil)
  }

  /// The sum of one group so far.
  private final class State {
    var integers: Int128 = 0
    var decimals: DecimalSum?
    /// Whether one of the values is a rounded sum itself.
    var hasRoundedValue = false
    var isEmpty = true

    /// The sum of the integers or the decimals.
    var sum: AttributeValue {
      decimals?.value ?? Int64(exactly: integers).map(AttributeValue.int) ?? .double(Double(integers))
    }
  }

  // Safety of `Unmanaged` and `assumingMemoryBound`: the memory that SQLite reserves for a group is used here alone. It
  // holds one strong reference, which the first value puts there and `finish` takes back. SQLite calls `finish` once
  // for each group, after a failure too.
  private static func memory(_ context: OpaquePointer?, creates: Bool) -> UnsafeMutablePointer<Unmanaged<State>?>? {
    let size = creates ? CInt(MemoryLayout<Unmanaged<State>?>.size) : 0
    return sqlite3_aggregate_context(context, size)?.assumingMemoryBound(to: Unmanaged<State>?.self)
  }

  private static func add(_ context: OpaquePointer?, _ arguments: UnsafeMutablePointer<OpaquePointer?>?) {
    guard let value = arguments?[0], let memory = memory(context, creates: true) else { return }
    // SQLite fills new memory with zeros, which are no reference.
    let state = memory.pointee ?? Unmanaged.passRetained(State())
    memory.pointee = state
    state._withUnsafeGuaranteedRef { add(value, to: $0) }
  }

  private static func add(_ value: OpaquePointer, to state: State) {
    switch sqlite3_value_type(value) {
    case SQLITE_INTEGER: state.integers += Int128(sqlite3_value_int64(value))
    case SQLITE_TEXT:
      guard let start = sqlite3_value_text(value) else { return }
      let sum = state.decimals ?? DecimalSum()
      state.decimals = sum
      let text = UnsafeBufferPointer(start: start, count: Int(sqlite3_value_bytes(value)))
      if RoundedDecimal.number(in: text) == nil { sum.add(digits: text) } else { state.hasRoundedValue = true }
    case SQLITE_FLOAT: state.hasRoundedValue = true
    default: return
    }
    state.isEmpty = false
  }

  private static func finish(_ context: OpaquePointer?, failsForRoundedSum: Bool) {
    guard let memory = memory(context, creates: false), let reference = memory.pointee else {
      return sqlite3_result_null(context)
    }
    memory.pointee = nil
    let state = reference.takeRetainedValue()
    if state.isEmpty { return sqlite3_result_null(context) }
    if state.hasRoundedValue { return sqlite3_result_error(context, overflowMessage, -1) }
    let isDecimal = state.decimals != nil
    switch state.sum {
    case .int(let sum): sqlite3_result_int64(context, sum)
    case .double where failsForRoundedSum: sqlite3_result_error(context, overflowMessage, -1)
    case .double(let sum) where isDecimal: setResult(RoundedDecimal.text(of: sum), of: context)
    case .double(let sum): sqlite3_result_double(context, sum)
    case .decimal(let sum): setResult(sum.description, of: context)
    default: sqlite3_result_null(context)
    }
  }

  private static func setResult(_ text: String, of context: OpaquePointer?) {
    sqlite3_result_text(context, text, CInt(text.utf8.count), SQLiteDestructor.copying)
  }
}
