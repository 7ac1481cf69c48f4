import CoherenceCore
import Foundation
import GRDBSQLite

/// The SQL aggregate `coherence_sum(value)`: the exact sum of integers, or of decimals kept as text; null without
/// values.
///
/// A sum of decimals is a text. A sum that a 64-bit integer or a decimal cannot hold is the nearest floating-point
/// number, and so is a sum of such sums.
enum SumFunction {
  static let name = "coherence_sum"

  /// Registers the function in a connection.
  static func register(in connection: OpaquePointer) -> CInt {
    sqlite3_create_function_v2(
      connection, name, 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, nil, nil,
      { context, _, arguments in SumFunction.add(context, arguments) },
      { context in SumFunction.finish(context) }, nil)
  }

  /// The sum of one group so far.
  private final class State {
    var integers: Int128 = 0
    var decimals: DecimalSum?
    /// The sum of the values that are rounded sums themselves; `nil` without such values.
    var rounded: Double?
    var isEmpty = true

    /// The sum of the integers or the decimals.
    var exactSum: AttributeValue {
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
      sum.add(digits: UnsafeBufferPointer(start: start, count: Int(sqlite3_value_bytes(value))))
    case SQLITE_FLOAT: state.rounded = (state.rounded ?? 0) + sqlite3_value_double(value)
    default: return
    }
    state.isEmpty = false
  }

  private static func finish(_ context: OpaquePointer?) {
    guard let memory = memory(context, creates: false), let reference = memory.pointee else {
      return sqlite3_result_null(context)
    }
    memory.pointee = nil
    let state = reference.takeRetainedValue()
    if state.isEmpty { return sqlite3_result_null(context) }
    let exactSum = state.exactSum
    if let rounded = state.rounded {
      return sqlite3_result_double(context, rounded + (exactSum.nearestDouble ?? 0))
    }
    switch exactSum {
    case .int(let sum): sqlite3_result_int64(context, sum)
    case .double(let sum): sqlite3_result_double(context, sum)
    case .decimal(let sum):
      let text = sum.description
      sqlite3_result_text(context, text, CInt(text.utf8.count), SQLiteDestructor.copying)
    default: sqlite3_result_null(context)
    }
  }
}
