/// What a store does with a table without knowing its type.
class AnyEntityTable {
  /// Puts the queries in order after what they have been told of.
  func settleQueries() {}

  /// Forgets what is over its time or beyond its room.
  func sweep() {}

  /// Removes every entity.
  func removeAll() {}

  /// How many entities there are.
  var count: Int { 0 }

  /// For people who look at the store.
  var typeName: String { "" }

  func forEachNode(_ body: (Node) -> Void) {}
}

/// The tables by the types of their entities: by the types themselves, not by their names.
final class TableDirectory {
  private var tables: [ObjectIdentifier: AnyEntityTable] = [:]
  /// The tables used last, found by the bits of a type's address in which types differ.
  private var recent = [(type: ObjectIdentifier, table: AnyEntityTable)?](repeating: nil, count: 16)
  /// Tables that have queries with something to look at.
  var withQueries: [AnyEntityTable] = []
  /// Tables that may have to forget something.
  var overdue: [AnyEntityTable] = []

  var all: some Collection<AnyEntityTable> { tables.values }

  var hasOverdue: Bool { !overdue.isEmpty }

  func sweepOverdue() {
    guard hasOverdue else { return }
    let tables = overdue
    overdue.removeAll()
    for table in tables { table.sweep() }
  }

  func table<T: Identifiable & Sendable>(of type: T.Type, core: StoreCore) -> EntityTable<T> {
    let key = ObjectIdentifier(type)
    let place = (UInt(bitPattern: key.hashableAddress) >> 4) & 15
    if let entry = recent[Int(place)], entry.type == key {
      return unsafeDowncast(entry.table, to: EntityTable<T>.self)
    }
    let table = tables[key].map { unsafeDowncast($0, to: EntityTable<T>.self) } ?? EntityTable<T>(core: core)
    tables[key] = table
    recent[Int(place)] = (key, table)
    return table
  }
}

extension ObjectIdentifier {
  fileprivate var hashableAddress: Int { Int(bitPattern: self) }
}

extension StoreCore {
  func table<T: Identifiable & Sendable>(of type: T.Type) -> EntityTable<T> {
    tables.table(of: type, core: self)
  }
}
