/// The rows of one store in a ``RowCache``. The cache's lock guards all mutable properties.
final class CachedStore {
  let store: any StateMarking
  var isAttached = true
  /// The mark of the state that all cached rows belong to; `nil` before the first row and after ``RowCache`` dropped
  /// the rows. An eviction keeps the mark.
  var mark: StateMark? {
    didSet {
      guard (oldValue == nil) != (mark == nil) else { return }
      RowCache.noteInUse(mark == nil ? -1 : 1)
    }
  }
  /// The value of ``RowCache/stepCount`` after the step to the state.
  var step = 0
  /// The number of running saves into the store by contexts of the coordinator.
  var saves = 0
  /// The rows cached since the last change of generations, and the rows cached before; see ``RowCache``.
  var newerRows = RowGeneration()
  var olderRows = RowGeneration()

  init(_ store: any StateMarking) { self.store = store }

  deinit { if mark != nil { RowCache.noteInUse(-1) } }

  var count: Int { newerRows.count + olderRows.count }
}

/// The rows of one generation by identifier. The cache's lock guards them.
final class RowGeneration {
  // Safety of `Unmanaged`: the table has a reference to each row, which `taken` and `deinit` release.
  // Safety of `@exclusivity(unchecked)`: the cache's lock admits one access at a time.

  /// The addresses of the rows' buffers, each with a reference of its own.
  @exclusivity(unchecked) private var table = IDTable()
  private(set) var count = 0

  deinit {
    table.forEach { word in
      guard let address = UnsafeRawPointer(bitPattern: word) else { return }
      Unmanaged<RowStorage>.fromOpaque(address).release()
    }
  }

  func has(_ id: ManagedObjectID) -> Bool { count > 0 && table[id] != 0 }

  func row(_ id: ManagedObjectID) -> Row? { count > 0 ? Self.row(table[id]) : nil }

  /// Appends the rows of keys to `rows`, and returns the keys without a row.
  func find(_ keys: some Sequence<Int64>, in space: IDSpace, into rows: inout [Row]) -> [Int64] {
    guard count > 0, let words = table.keys(inSpaceOf: ManagedObjectID(space: space, key: 0)) else {
      return Array(keys)
    }
    var missing: [Int64] = []
    for key in keys {
      if let row = Self.row(words.pointee[key]) { rows.append(row) } else { missing.append(key) }
    }
    return missing
  }

  /// Adds a row. The record must have no row here.
  func enter(_ row: Row) {
    table.set(Self.word(row), for: row.id)
    count += 1
  }

  /// Replaces the row of a record and returns the replaced row; does nothing for a record without a row here.
  func replace(_ row: Row) -> Row? {
    guard count > 0, let former = Self.taken(table[row.id]) else { return nil }
    table.set(Self.word(row), for: row.id)
    return former
  }

  func remove(_ id: ManagedObjectID) -> Row? {
    guard count > 0 else { return nil }
    let word = table[id]
    guard let row = Self.taken(word) else { return nil }
    table.remove(id, ifWord: word)
    count -= 1
    return row
  }

  /// The word of a row, with a reference for the table.
  private static func word(_ row: Row) -> UInt { UInt(bitPattern: Unmanaged.passRetained(row.storage).toOpaque()) }

  private static func row(_ word: UInt) -> Row? {
    guard let address = UnsafeRawPointer(bitPattern: word) else { return nil }
    return Row(storage: Unmanaged<RowStorage>.fromOpaque(address).takeUnretainedValue())
  }

  /// The row of a word. Takes over the table's reference.
  private static func taken(_ word: UInt) -> Row? {
    guard let address = UnsafeRawPointer(bitPattern: word) else { return nil }
    return Row(storage: Unmanaged<RowStorage>.fromOpaque(address).takeRetainedValue())
  }
}
