import CoherenceRuntime
import Synchronization

/// The objects that a context has, each at most once, without keeping them.
///
/// The table holds plain addresses. This is sound because an object takes itself out, under the lock, in its `deinit`,
/// before its memory is freed; and each lookup takes a reference under the same lock, which the runtime refuses once
/// deinitialisation has begun.
final class ObjectRegistry: @unchecked Sendable {
  // Sendable: `table` is used under `lock` only.
  // Safety of `@exclusivity(unchecked)`: `lock` admits one access at a time.
  // Safety of `Unmanaged`: an object removes its address before its memory is freed.
  // Safety of `_unsafeLock` and `_unsafeUnlock`: `locked` has both calls, on one thread.
  private let lock = Mutex(())
  @exclusivity(unchecked) private var table = IDTable()
  /// Fresh objects not in the table yet: most are saved before any lookup of them, and get their permanent identifiers
  /// then.
  @exclusivity(unchecked) private var newcomers: ArraySlice<UInt> = []

  @inline(__always) private func locked<T>(_ body: () -> T) -> T {
    lock._unsafeLock()
    defer { lock._unsafeUnlock() }
    return body()
  }

  private static func retained(_ word: UInt) -> ManagedObject? {
    guard let address = UnsafeMutableRawPointer(bitPattern: word), let object = swift_tryRetain(address) else {
      return nil
    }
    return Unmanaged<ManagedObject>.fromOpaque(object).takeRetainedValue()
  }

  @inline(__always) private static func word(_ object: ManagedObject) -> UInt {
    UInt(bitPattern: Unmanaged.passUnretained(object).toOpaque())
  }

  /// Brings the table up to date. Called under the lock.
  @inline(__always) private func enterNewcomers() { if !newcomers.isEmpty { enterAllNewcomers() } }

  @inline(never) private func enterAllNewcomers() {
    for word in newcomers { table.set(word, for: Self.id(of: word)) }
    newcomers = []
  }

  private static func id(of word: UInt) -> ManagedObjectID {
    // An object takes itself out before it is freed.
    Unmanaged<ManagedObject>.fromOpaque(UnsafeRawPointer(bitPattern: word)!)._withUnsafeGuaranteedRef { $0.id }
  }

  private static func setID(_ id: ManagedObjectID, of word: UInt) {
    Unmanaged<ManagedObject>.fromOpaque(UnsafeRawPointer(bitPattern: word)!)._withUnsafeGuaranteedRef { $0.id = id }
  }

  /// The identifier of an object, for others than its owner.
  func id(of object: ManagedObject) -> ManagedObjectID { locked { object.id } }

  /// The object of that identifier; `nil` for none.
  func object(for id: ManagedObjectID) -> ManagedObject? {
    locked {
      enterNewcomers()
      return Self.retained(table[id])
    }
  }

  /// Enters an object by its present identifier.
  func insert(_ object: ManagedObject) { locked { table.set(Self.word(object), for: object.id) } }

  /// Enters an object unknown to all other threads.
  func insert(fresh object: ManagedObject) { locked { newcomers.append(Self.word(object)) } }

  /// An object that gets another identifier.
  struct Move {
    fileprivate let word: UInt
    fileprivate let former: ManagedObjectID
    fileprivate let present: ManagedObjectID

    init(_ object: ManagedObject, to id: ManagedObjectID) {
      word = ObjectRegistry.word(object)
      former = object.id
      present = id
    }
  }

  /// Makes room for objects of one space that come soon.
  func reserve(_ count: Int, beside id: ManagedObjectID) { locked { table.reserve(count, beside: id) } }

  /// Gives objects other identifiers, under the lock that guards their reading, and enters them by those. The caller
  /// keeps the objects while this runs.
  func move(_ moves: [Move]) {
    guard !moves.isEmpty else { return }
    locked {
      // The first to come are the first to be saved.
      let fresh = zip(moves, newcomers).prefix { $0.word == $1 }.count
      newcomers = newcomers.dropFirst(fresh)
      if fresh < moves.count { enterNewcomers() }
      for (index, move) in moves.enumerated() {
        if index >= fresh { table.remove(move.former, ifWord: move.word) }
        Self.setID(move.present, of: move.word)
        table.set(move.word, for: move.present)
      }
    }
  }

  /// Takes an object out, if it is the entered object of that identifier.
  func remove(_ object: ManagedObject, id: ManagedObjectID) {
    locked {
      enterNewcomers()
      table.remove(id, ifWord: Self.word(object))
    }
  }

  /// Finds or makes the objects of many rows of one space, appending them to `objects` in the order of the rows.
  ///
  /// Nothing is released under the lock: every found or made object is kept in `objects`.
  ///
  /// - Parameters:
  ///   - make: Makes the object of a row, given the object's place in `objects`.
  ///   - found: Called with each object found, its row and its place, after the lock was given back.
  func objects(
    for rows: [Row], into objects: inout [ManagedObject], make: (Row, Int) -> ManagedObject,
    found: (ManagedObject, Row, Int) -> Void
  ) {
    guard let first = rows.first?.id else { return }
    var known: [(ManagedObject, Row, Int)] = []
    locked {
      enterNewcomers()
      table.reserve(rows.count, beside: first)
      var (space, keys) = (first, table.makeKeys(beside: first))
      for row in rows {
        let id = row.id
        if !id.isNeighbour(of: space) {
          table.reserve(rows.count, beside: id)
          (space, keys) = (id, table.makeKeys(beside: id))
        }
        keys.pointee.update(id.key) { word in
          if let object = Self.retained(word) {
            known.append((object, row, objects.count))
            objects.append(object)
            return word
          }
          let object = make(row, objects.count)
          objects.append(object)
          return Self.word(object)
        }
      }
    }
    for (object, row, place) in known { found(object, row, place) }
  }

  /// The objects of identifiers; `nil` for an identifier without an object.
  func objects(for ids: some Collection<ManagedObjectID>) -> [ManagedObject?] {
    var result: [ManagedObject?] = []
    result.reserveCapacity(ids.count)
    locked {
      enterNewcomers()
      for id in ids { result.append(Self.retained(table[id])) }
    }
    return result
  }

  /// Every object of the context.
  var all: [ManagedObject] {
    locked {
      enterNewcomers()
      var result: [ManagedObject] = []
      table.forEach { word in
        if let object = Self.retained(word) { result.append(object) }
      }
      return result
    }
  }

  /// Forgets every object.
  func removeAll() {
    locked {
      newcomers = []
      table.removeAll()
    }
  }
}
