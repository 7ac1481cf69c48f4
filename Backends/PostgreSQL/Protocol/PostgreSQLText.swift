import CLibPQ
import CoherenceCore
import CoherenceSQL

/// A statement's text and the types of its parameters, by which a connection finds the prepared statement.
struct PostgreSQLText: Hashable {
  let text: String
  let types: [Oid]
  /// Whether the statement is sent as a prepared statement, which the connection keeps for its next use.
  let isPrepared: Bool
  /// Whether the statement begins or ends a transaction, or a part of it. Such a statement stays prepared, and its
  /// preparation removes no other statement, because no removal may run before it.
  let isControl: Bool
  /// The hash of the text, computed once: the connection looks the statement up each time it is sent.
  private let textHash: Int

  static let commit = PostgreSQLText("COMMIT", isControl: true)
  static let rollback = PostgreSQLText("ROLLBACK", isControl: true)

  init(_ text: String, types: [Oid] = [], isPrepared: Bool = true, isControl: Bool = false) {
    self.text = text
    self.types = types
    self.isPrepared = isPrepared
    self.isControl = isControl
    textHash = text.hashValue
  }

  init(_ statement: SQLStatement, isPrepared: Bool = true) {
    let types = statement.bindings.map { binding in
      switch binding {
      case .value(_, let storage): PostgreSQLBinary.type(of: storage)
      case .array(_, let storage): PostgreSQLBinary.arrayType(of: storage)
      }
    }
    self.init(statement.text, types: types, isPrepared: isPrepared && !statement.bindings.contains(where: \.isLongList))
  }

  static func == (left: PostgreSQLText, right: PostgreSQLText) -> Bool {
    left.textHash == right.textHash && left.isPrepared == right.isPrepared && left.types == right.types
      && left.text == right.text
  }

  func hash(into hasher: inout Hasher) { hasher.combine(textHash) }
}

extension SQLBinding {
  /// Whether the value is a list for which the server needs a plan of its own.
  ///
  /// In a plan for any list, the server compares each row with the values one by one. Only in a plan for a known list
  /// does it look them up in a hash table, from nine values on.
  fileprivate var isLongList: Bool {
    if case .array(let values, _) = self { values.count > 8 } else { false }
  }
}

/// The prepared statements of a connection: the most recently used statements, and those that control transactions.
struct PreparedStatements {
  private struct Entry {
    let name: String
    var lastUse: Int
  }
  private var entries: [PostgreSQLText: Entry] = [:]
  private var uses = 0
  private static let capacity = 200

  mutating func name(of text: PostgreSQLText) -> String? {
    uses += 1
    guard let index = entries.index(forKey: text) else { return nil }
    entries.values[index].lastUse = uses
    return entries.values[index].name
  }

  /// Enters a statement under a name that the connection has never used.
  mutating func add(_ text: PostgreSQLText) -> String {
    uses += 1
    let name = "s\(uses)"
    entries[text] = Entry(name: name, lastUse: uses)
    return name
  }

  mutating func remove(_ text: PostgreSQLText) { entries[text] = nil }

  /// Removes the least recently used statement if no room is left for another one.
  ///
  /// - Returns: The name of the removed statement, which the caller deallocates; `nil` if none was removed.
  mutating func removeLeastUsed(for text: PostgreSQLText) -> String? {
    guard !text.isControl, entries.count >= Self.capacity,
      let least = entries.lazy.filter({ !$0.key.isControl }).min(by: { $0.value.lastUse < $1.value.lastUse })
    else { return nil }
    entries[least.key] = nil
    return least.value.name
  }
}
