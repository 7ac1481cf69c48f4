/// What a store does with a table without knowing its type.
@usableFromInline
class AnyEntityTable {
  @usableFromInline init() {}

  /// Puts the queries in order after what they have been told of.
  @usableFromInline func refreshQueries() {}

  /// No transaction that may be undone is going on any more.
  @usableFromInline func commitQueries() {}

  /// Begins those queries again that began in what was undone.
  @usableFromInline func rerunNewQueries() {}

  /// Forgets what is over its time or beyond its room.
  @usableFromInline func evictExpired() {}

  /// Removes every entity.
  @usableFromInline func removeAll() {}

  /// Removes every entity, and forgets the stamps.
  @usableFromInline func clear() {}

  @usableFromInline func forEachNode(_ body: (Node) -> Void) {}
}

/// The tables by the types of their entities: by the types themselves, not by their names.
@usableFromInline
final class TableDirectory {
  private var tables: [ObjectIdentifier: AnyEntityTable] = [:]
  /// The tables used last, found by the bits of a type's address in which types differ.
  @usableFromInline let recent: UnsafeMutablePointer<(type: ObjectIdentifier, table: Unmanaged<AnyEntityTable>)?>
  /// Tables that have queries with something to look at.
  @exclusivity(unchecked) var withQueries: [AnyEntityTable] = []
  /// Tables that may have to forget something.
  @exclusivity(unchecked) var overdue: [AnyEntityTable] = []

  var all: some Collection<AnyEntityTable> { tables.values }

  var hasOverdue: Bool { !overdue.isEmpty }

  func evictOverdue() {
    guard hasOverdue else { return }
    let tables = overdue
    overdue.removeAll()
    for table in tables { table.evictExpired() }
  }

  init() {
    recent = .allocate(capacity: Self.slotCount)
    recent.initialize(repeating: nil, count: Self.slotCount)
  }

  deinit {
    recent.deinitialize(count: Self.slotCount)
    recent.deallocate()
  }

  @inlinable static var slotCount: Int { 16 }

  /// The place of a type among the tables used last.
  @inlinable static func slot(of key: ObjectIdentifier) -> Int {
    Int(bitPattern: UInt(bitPattern: Int(bitPattern: key)) >> 4) & (slotCount - 1)
  }

  /// The table of a type, if there is one; changes nothing.
  @usableFromInline func existingTable<T: Identifiable & Sendable>(of type: T.Type) -> Unmanaged<EntityTable<T>>? {
    tables[ObjectIdentifier(type)].map { .passUnretained(unsafeDowncast($0, to: EntityTable<T>.self)) }
  }

  @usableFromInline func findTable<T: Identifiable & Sendable>(of type: T.Type, core: StoreCore) -> EntityTable<T> {
    let key = ObjectIdentifier(type)
    let table = tables[key].map { unsafeDowncast($0, to: EntityTable<T>.self) } ?? EntityTable<T>(core: core)
    tables[key] = table
    recent[Self.slot(of: key)] = (key, .passUnretained(table))
    return table
  }
}

extension StoreCore {
  /// The table of a type, if there is one. Usable in reads.
  @inlinable func existingTable<T: Identifiable & Sendable>(of type: T.Type) -> Unmanaged<EntityTable<T>>? {
    let key = ObjectIdentifier(type)
    if let entry = tables.recent[TableDirectory.slot(of: key)], entry.type == key {
      return Unmanaged.fromOpaque(entry.table.toOpaque())
    }
    return tables.existingTable(of: type)
  }

  @inlinable func table<T: Identifiable & Sendable>(of type: T.Type) -> EntityTable<T> {
    unretainedTable(of: type).takeUnretainedValue()
  }

  /// The table, which is there as long as the store is.
  @inlinable func unretainedTable<T: Identifiable & Sendable>(of type: T.Type) -> Unmanaged<EntityTable<T>> {
    let key = ObjectIdentifier(type)
    if let entry = tables.recent[TableDirectory.slot(of: key)], entry.type == key {
      return Unmanaged.fromOpaque(entry.table.toOpaque())
    }
    return Unmanaged.passUnretained(tables.findTable(of: type, core: self))
  }
}
