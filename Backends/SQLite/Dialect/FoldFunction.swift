import CoherenceCore
import GRDBSQLite

/// The SQL function `coherence_fold(text, options)`: the text without the differences that the options ignore.
enum FoldFunction {
  static let name = "coherence_fold"

  /// Registers the function in a connection.
  static func register(in connection: OpaquePointer) -> CInt {
    let flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC
    return sqlite3_create_function_v2(
      connection, name, 2, flags, nil, { context, _, arguments in FoldFunction.run(context, arguments) }, nil, nil, nil)
  }

  private static func run(_ context: OpaquePointer?, _ arguments: UnsafeMutablePointer<OpaquePointer?>?) {
    guard let arguments, let start = sqlite3_value_text(arguments[0]) else {
      sqlite3_result_null(context)
      return
    }
    let bytes = UnsafeBufferPointer(start: start, count: Int(sqlite3_value_bytes(arguments[0])))
    let options = StringOptions(rawValue: Int(sqlite3_value_int(arguments[1])))
    var folded = String(decoding: bytes, as: UTF8.self).folded(options)
    folded.withUTF8 { bytes in
      bytes.withMemoryRebound(to: CChar.self) { characters in
        // A text without an address would become null.
        if characters.isEmpty {
          sqlite3_result_text(context, "", 0, SQLiteDestructor.copying)
        } else {
          sqlite3_result_text(context, characters.baseAddress, CInt(characters.count), SQLiteDestructor.copying)
        }
      }
    }
  }
}
