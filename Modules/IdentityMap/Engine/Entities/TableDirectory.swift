/// The operations on a table that do not depend on its type.
@usableFromInline
class AnyEntityTable {
  @usableFromInline init() {}

  /// Updates the results of the queries after their candidates.
  @usableFromInline func updateQueries() {}

  /// Marks all queries as not new at the end of the transaction that made them.
  @usableFromInline func commitQueries() {}

  /// Evaluates the queries again that a rolled back transaction has made.
  @usableFromInline func rerunNewQueries() {}

  /// Evicts expired entities and those beyond the limit of their lifetime.
  @usableFromInline func evictExpired() {}

  /// Removes every entity.
  @usableFromInline func removeAll() {}

  /// Removes all entities and forgets their stamps.
  @usableFromInline func clear() {}

  @usableFromInline func forEachNode(_ body: (Node) -> Void) {}
}

/// The tables by the metatypes of their entities.
@usableFromInline
final class TableDirectory {
  private var tables: [ObjectIdentifier: AnyEntityTable] = [:]
  /// The recently used tables, found by the address bits in which metatypes differ.
  @usableFromInline let recent: UnsafeMutablePointer<(type: ObjectIdentifier, table: Unmanaged<AnyEntityTable>)?>
  /// Tables with queries.
  @exclusivity(unchecked) var withQueries: [AnyEntityTable] = []
  /// Tables in which the next commit evicts the entities over the limit of their lifetime.
  @exclusivity(unchecked) var overdue: [AnyEntityTable] = []

  var all: some Collection<AnyEntityTable> { tables.values }

  var hasOverdue: Bool { !overdue.isEmpty }

  /// Evicts the entities over the limit of their lifetime.
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

  /// The slot of a type among the recently used tables.
  @inlinable static func slot(of key: ObjectIdentifier) -> Int {
    Int(bitPattern: UInt(bitPattern: Int(bitPattern: key)) >> 4) & (slotCount - 1)
  }

  /// Returns the table of a type, or `nil`; changes nothing.
  @usableFromInline func existingTable<T: Identifiable & Sendable>(of type: T.Type) -> Unmanaged<EntityTable<T>>? {
    tables[ObjectIdentifier(type)].map { .passUnretained(unsafeDowncast($0, to: EntityTable<T>.self)) }
  }

  /// Returns the table of a type, made on the first call, and makes it a recently used table.
  @usableFromInline func findTable<T: Identifiable & Sendable>(of type: T.Type, core: StoreCore) -> EntityTable<T> {
    let key = ObjectIdentifier(type)
    let table = tables[key].map { unsafeDowncast($0, to: EntityTable<T>.self) } ?? EntityTable<T>(core: core)
    tables[key] = table
    recent[Self.slot(of: key)] = (key, .passUnretained(table))
    return table
  }
}

extension StoreCore {
  /// Returns the table of a type, or `nil`. Usable in shared reads.
  @inlinable func existingTable<T: Identifiable & Sendable>(of type: T.Type) -> Unmanaged<EntityTable<T>>? {
    let key = ObjectIdentifier(type)
    if let entry = tables.recent[TableDirectory.slot(of: key)], entry.type == key {
      return Unmanaged.fromOpaque(entry.table.toOpaque())
    }
    return tables.existingTable(of: type)
  }

  /// Returns the table of a type, made on the first call.
  @inlinable func table<T: Identifiable & Sendable>(of type: T.Type) -> EntityTable<T> {
    unretainedTable(of: type).takeUnretainedValue()
  }

  /// Returns the table, which exists as long as the store.
  @inlinable func unretainedTable<T: Identifiable & Sendable>(of type: T.Type) -> Unmanaged<EntityTable<T>> {
    let key = ObjectIdentifier(type)
    if let entry = tables.recent[TableDirectory.slot(of: key)], entry.type == key {
      return Unmanaged.fromOpaque(entry.table.toOpaque())
    }
    return Unmanaged.passUnretained(tables.findTable(of: type, core: self))
  }
}
