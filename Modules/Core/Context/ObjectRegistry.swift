import CoherenceRuntime
import Synchronization

/// The objects that a context has, each at most once, without keeping them.
///
/// The table holds plain addresses. That is sound because an object takes itself out, under the lock, in its `deinit`,
/// before its memory goes; and whoever looks an object up takes a reference under the same lock, which the runtime
/// refuses once deinitialisation has begun.
final class ObjectRegistry: @unchecked Sendable {
  // Sendable: `tables` is used under `lock` only.
  private let lock = Mutex(())
  @exclusivity(unchecked) private var tables: [SpaceTable] = []

  private final class SpaceTable {
    let space: IDSpace
    @exclusivity(unchecked) var keys = KeyTable()
    init(space: IDSpace) { self.space = space }
  }

  private func table(_ space: IDSpace) -> SpaceTable? {
    for table in tables where table.space === space { return table }
    return nil
  }

  private func makeTable(_ space: IDSpace) -> SpaceTable {
    if let table = table(space) { return table }
    let table = SpaceTable(space: space)
    tables.append(table)
    return table
  }

  private static func retained(_ word: UInt) -> ManagedObject? {
    guard let address = UnsafeMutableRawPointer(bitPattern: word), let object = swift_tryRetain(address) else {
      return nil
    }
    return Unmanaged<ManagedObject>.fromOpaque(object).takeRetainedValue()
  }

  private static func word(_ object: ManagedObject) -> UInt {
    UInt(bitPattern: Unmanaged.passUnretained(object).toOpaque())
  }

  /// The object of that identifier, if there is one.
  func object(for id: ManagedObjectID) -> ManagedObject? {
    var result: ManagedObject?
    lock.withLock { _ in
      guard let table = table(id.space) else { return }
      result = Self.retained(table.keys[id.key])
    }
    return result
  }

  /// Enters an object by its present identifier.
  func insert(_ object: ManagedObject) {
    lock.withLock { _ in makeTable(object.id.space).keys.set(Self.word(object), for: object.id.key) }
  }

  /// Enters an object by another identifier, which it has now.
  func move(_ object: ManagedObject, from id: ManagedObjectID) {
    lock.withLock { _ in
      table(id.space)?.keys.remove(id.key, ifWord: Self.word(object))
      makeTable(object.id.space).keys.set(Self.word(object), for: object.id.key)
    }
  }

  /// Takes an object out, if it is the one that is entered by that identifier.
  func remove(_ object: ManagedObject, id: ManagedObjectID) {
    lock.withLock { _ in table(id.space)?.keys.remove(id.key, ifWord: Self.word(object)) }
  }

  /// Finds or makes the objects of many rows of one space, appending them to `objects` in the order of the rows.
  ///
  /// Nothing is released under the lock: every object that is found or made is kept in `objects`.
  ///
  /// - Parameters:
  ///   - found: Called with each object that was there already, and its row, after the lock was given back.
  func objects<O: ManagedObject>(
    for rows: [Row], into objects: inout [O], make: (Row) -> ManagedObject,
    found: (ManagedObject, Row) -> Void
  ) {
    guard let first = rows.first else { return }
    var known: [(ManagedObject, Row)] = []
    lock.withLock { _ in
      var table = makeTable(first.id.space)
      for row in rows {
        if row.id.space !== table.space { table = makeTable(row.id.space) }
        if let object = Self.retained(table.keys[row.key]) {
          known.append((object, row))
          objects.append(unsafeDowncast(object, to: O.self))
        } else {
          let object = make(row)
          table.keys.set(Self.word(object), for: row.key)
          objects.append(unsafeDowncast(object, to: O.self))
        }
      }
    }
    for (object, row) in known { found(object, row) }
  }

  /// Every object there is.
  var all: [ManagedObject] {
    var result: [ManagedObject] = []
    lock.withLock { _ in
      for table in tables {
        table.keys.forEach { word in
          if let object = Self.retained(word) { result.append(object) }
        }
      }
    }
    return result
  }

  /// Forgets every object.
  func removeAll() { lock.withLock { _ in tables.removeAll() } }
}
