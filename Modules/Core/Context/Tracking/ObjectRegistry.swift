import CoherenceRuntime
import Synchronization

/// The objects of a context by identifier. The registry does not retain them. Each record has at most one object.
///
/// The table holds plain addresses. An object removes itself, under the lock, in its `deinit`, before its memory is
/// freed. Each lookup takes a reference under the same lock, and the runtime refuses a reference once deinitialisation
/// has begun.
///
/// Invariants, see ``checkInvariants()``: each word of `table` is the address of an object whose `deinit` has not
/// removed the object yet, under the object's present identifier. No object is in `table` and in `unindexed` at once.
/// Identifiers only change under the lock, together with the table.
final class ObjectRegistry: @unchecked Sendable {
  // Sendable: `table` is used under `lock` only.
  // Safety of `@exclusivity(unchecked)`: `lock` admits one access at a time.
  // Safety of `Unmanaged`: an object removes its address before its memory is freed.
  // Safety of `_unsafeLock` and `_unsafeUnlock`: `locked` has both calls, on one thread.
  private let lock = Mutex(())
  @exclusivity(unchecked) private var table = IDTable()
  /// New objects outside of the table. Most of them are saved, and get their permanent identifiers, before any lookup.
  @exclusivity(unchecked) private var unindexed = WordQueue()
  /// The thread whose initializers of objects run under the lock; zero for none. An initializer of a user's class may use
  /// the registry again by mistake, and would wait for its own thread.
  private let maker = Atomic<UInt>(0)

  @inline(__always) private func locked<T>(_ body: () -> T) -> T {
    let thread = maker.load(ordering: .relaxed)
    if thread != 0 { checkIsNotMaker(thread) }
    lock._unsafeLock()
    defer { lock._unsafeUnlock() }
    return body()
  }

  /// Ends the process with a sentence if the calling thread makes objects under the lock.
  @inline(never) private func checkIsNotMaker(_ thread: UInt) {
    Misuse.check(
      thread != currentThread,
      "An initializer of a subclass of `ManagedObject` used the context that makes the object, or released an object of "
        + "this context. The context's lock is held during the initializer; use the context in `awakeFromFetch()` or "
        + "`awakeFromInsert()` instead.")
  }

  /// The object with an address; `nil` for no address, and for an object whose deinitialisation has begun.
  private static func retained(_ word: UInt) -> ManagedObject? {
    guard let address = UnsafeMutableRawPointer(bitPattern: word), let object = swift_tryRetain(address) else {
      return nil
    }
    return Unmanaged<ManagedObject>.fromOpaque(object).takeRetainedValue()
  }

  @inline(__always) private static func word(_ object: ManagedObject) -> UInt {
    UInt(bitPattern: Unmanaged.passUnretained(object).toOpaque())
  }

  /// Adds the new objects to the table. Called under the lock.
  @inline(__always) private func indexNewObjects() { if !unindexed.isEmpty { indexAllNewObjects() } }

  @inline(never) private func indexAllNewObjects() {
    for word in unindexed.words { table.set(word, for: Self.id(of: word)) }
    unindexed.removeAll()
  }

  private static func id(of word: UInt) -> ManagedObjectID {
    // An object removes itself before its memory is freed.
    Unmanaged<ManagedObject>.fromOpaque(UnsafeRawPointer(bitPattern: word)!)._withUnsafeGuaranteedRef { $0.recordID }
  }

  private static func setID(_ id: ManagedObjectID, of word: UInt) {
    Unmanaged<ManagedObject>.fromOpaque(UnsafeRawPointer(bitPattern: word)!)._withUnsafeGuaranteedRef {
      $0.recordID = id
    }
  }

  /// The identifier of an object, for threads other than the owner's.
  func id(of object: ManagedObject) -> ManagedObjectID { locked { object.recordID } }

  /// Whether no object is registered. The cost grows with the number of entities.
  var isEmpty: Bool {
    locked {
      guard unindexed.isEmpty else { return false }
      return table.count == 0
    }
  }

  /// The object with an identifier; `nil` for none.
  func object(for id: ManagedObjectID) -> ManagedObject? {
    locked {
      indexNewObjects()
      return Self.retained(table[id])
    }
  }

  /// Adds an object under its present identifier.
  func insert(_ object: ManagedObject) { locked { table.set(Self.word(object), for: object.recordID) } }

  /// Adds a new object, which enters the table at the next lookup.
  func insert(new object: ManagedObject) { locked { unindexed.append(Self.word(object)) } }

  /// A change of an object's identifier.
  struct Move {
    fileprivate let word: UInt
    fileprivate let former: ManagedObjectID
    fileprivate let present: ManagedObjectID

    init(_ object: ManagedObject, to id: ManagedObjectID) {
      word = ObjectRegistry.word(object)
      former = object.recordID
      present = id
    }
  }

  /// Reserves room for further objects in the space of an identifier: the identifiers of one store and hierarchy.
  func reserve(_ count: Int, inSpaceOf id: ManagedObjectID) { locked { table.reserve(count, inSpaceOf: id) } }

  /// Gives objects other identifiers under the lock that guards their reading, and moves their entries. The caller
  /// retains the objects during the call.
  func move(_ moves: [Move]) {
    guard !moves.isEmpty else { return }
    locked {
      // Objects are mostly saved in the order of their insertion.
      let unindexedCount = zip(moves, unindexed.words).prefix { $0.word == $1 }.count
      unindexed.removeFirst(unindexedCount)
      if unindexedCount < moves.count { indexNewObjects() }
      for (index, move) in moves.enumerated() {
        if index >= unindexedCount { table.remove(move.former, ifWord: move.word) }
        Self.setID(move.present, of: move.word)
        table.set(move.word, for: move.present)
      }
    }
  }

  /// Removes an object, if it is the registered object of the identifier.
  func remove(_ object: ManagedObject, id: ManagedObjectID) {
    locked {
      indexNewObjects()
      table.remove(id, ifWord: Self.word(object))
    }
  }

  /// Finds or makes the objects of many rows of one space, appending them to `objects` in the order of the rows.
  ///
  /// No object is released under the lock, because `objects` retains every found or made object.
  ///
  /// - Parameters:
  ///   - make: Makes the object of a row, given its index in `objects`. The caller retains the row.
  ///   - found: Called with each registered object, its row and its index, after the lock is released.
  func objects(
    for rows: [Row], into objects: inout [ManagedObject], make: (Unmanaged<RowStorage>, Int) -> ManagedObject,
    found: (ManagedObject, Row, Int) -> Void
  ) {
    guard let first = rows.first?.id else { return }
    // The indices of registered objects in `objects`.
    var registered: [Int] = []
    let start = objects.count
    locked {
      maker.store(currentThread, ordering: .relaxed)
      defer { maker.store(0, ordering: .relaxed) }
      indexNewObjects()
      table.reserve(rows.count, inSpaceOf: first)
      var (space, keys) = (first, table.makeKeys(inSpaceOf: first))
      rows.visit { row in
        let id = row._withUnsafeGuaranteedRef { $0.content.pointee.id }
        if !id.hasSameSpace(as: space) {
          table.reserve(rows.count, inSpaceOf: id)
          (space, keys) = (id, table.makeKeys(inSpaceOf: id))
        }
        keys.pointee.update(id.key) { word in
          if let object = Self.retained(word) {
            registered.append(objects.count)
            objects.append(consume object)
            return word
          }
          let object = make(row, objects.count)
          let word = Self.word(object)
          objects.append(consume object)
          return word
        }
      }
    }
    for index in registered { found(objects[index], rows[index - start], index) }
  }

  /// The objects of identifiers; `nil` for an identifier without an object.
  func objects(for ids: some Collection<ManagedObjectID>) -> [ManagedObject?] {
    var result: [ManagedObject?] = []
    result.reserveCapacity(ids.count)
    locked {
      indexNewObjects()
      for id in ids { result.append(Self.retained(table[id])) }
    }
    return result
  }

  /// Every object of the context.
  var all: [ManagedObject] {
    locked {
      indexNewObjects()
      var result: [ManagedObject] = []
      table.forEach { word in
        if let object = Self.retained(word) { result.append(object) }
      }
      return result
    }
  }

  /// Ends a debug build if an invariant of the registry does not hold.
  func checkInvariants() {
    locked {
      table.checkInvariants()
      var entered: Set<UInt> = []
      table.forEach { entered.insert($0) }
      let isByIdentifier = entered.allSatisfy { table[Self.id(of: $0)] == $0 }
      assert(entered.count == table.count && isByIdentifier, "A registry has each object by its present identifier.")
      let unindexed = unindexed.words
      assert(Set(unindexed).count == unindexed.count, "An object is unindexed once.")
      assert(entered.isDisjoint(with: unindexed), "An unindexed object of a registry is not in its table.")
    }
  }

  /// Removes every object.
  func removeAll() {
    locked {
      unindexed.removeAll()
      table.removeAll()
    }
  }
}

/// Words that leave in the order of their arrival. An array, because an append to a slice costs twice as much.
private struct WordQueue {
  private var all: [UInt] = []
  /// The number of words that have left.
  private var start = 0

  var isEmpty: Bool { start == all.count }
  /// The words that have not left.
  var words: ArraySlice<UInt> { all[start...] }

  mutating func append(_ word: UInt) { all.append(word) }
  mutating func removeAll() { self = WordQueue() }

  /// Removes the first words. Their memory is used again once they are half of all words.
  mutating func removeFirst(_ count: Int) {
    start += count
    guard start * 2 >= all.count else { return }
    all = Array(words)
    start = 0
  }
}
