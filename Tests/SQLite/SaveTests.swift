import CoherenceCore
import CoherenceSQL
import CoherenceSQLite
import Foundation
import Synchronization
import TestSupport
import Testing

@Suite struct SaveTests {
  private let place: TemporaryStore
  private let store: any PersistentStore

  init() throws {
    place = try TemporaryStore()
    store = try place.open(PeopleModel.make())
  }

  private func slots(_ names: String...) -> SlotSet {
    SlotSet(names.map { name in store.entity("Person").slots.firstIndex { $0.name == name }! })
  }

  @Test func `many rows of more columns than a statement has parameters for are saved`() throws {
    let place = try TemporaryStore()
    let store = try place.open(
      try ManagedObjectModel {
        Entity("Wide") { for number in 0..<1500 { Attribute("a\(number)", .int64, optional: true) } }
      })
    let rows = try (0..<70).map { try store.row("Wide", ["a0": .int($0), "a1499": .int(-$0)]) }
    try store.save(StoreSaveRequest(steps: [.insert(store.entity("Wide"), rows)]))
    for row in rows {
      let found = try #require(try store.current(row))
      #expect(found["a0"] == row["a0"] && found["a1499"] == row["a1499"])
    }
  }

  @Test func `a record at another version is neither changed nor deleted`() throws {
    let row = try store.insert("Person", ["name": .string("a")])
    try store.save(row.update(["name": .string("b")]))
    let steps = [
      row.update(["name": .string("mine")], from: 1), .delete(row.entity, [RowDelete(id: row.id, baseVersion: 1)]),
    ]
    for step in steps {
      let failure = #expect(throws: StoreConflict.Failure.self) { try store.save(step) }
      #expect(failure?.conflicts.map(\.id) == [row.id])
      #expect(try store.current(row)?["name"] == .string("b"))
    }
  }

  @Test(arguments: [
    "CREATE TRIGGER refuse BEFORE INSERT ON Person BEGIN SELECT RAISE(ABORT, 'no persons'); END",
    "CREATE TRIGGER refuse BEFORE INSERT ON Person BEGIN INSERT INTO checked VALUES (1); END",
  ])
  func `the constraint of another program is no used key, and the next save needs no other keys`(
    trigger: String
  ) throws {
    let other = try OtherProgram(place.path)
    try other.run("CREATE TABLE checked (a CHECK (a > 1))")
    try other.run(trigger)
    let row = try store.row("Person", ["name": .string("a")])
    let error = #expect(throws: CoherenceError.self) { try store.save(.insert(row.entity, [row])) }
    #expect(error?.code == .invalidValue && error?.message.contains("not the model's") == true)
    try other.run("DROP TRIGGER refuse")
    try store.save(.insert(row.entity, [row]))
    #expect(try store.current(row)?["name"] == .string("a"))
  }

  @Test func `a save whose transaction a trigger of another program rolls back inserts no record`() throws {
    let other = try OtherProgram(place.path)
    try other.run(
      """
      CREATE TRIGGER refuse BEFORE INSERT ON Person WHEN NEW.name = 'refused' \
      BEGIN SELECT RAISE(ROLLBACK, 'not this person'); END
      """)
    let rows = try (1...40).map { try store.row("Person", ["name": .string($0 == 30 ? "refused" : "taken")]) }
    let error = #expect(throws: CoherenceError.self) { try store.save(.insert(store.entity("Person"), rows)) }
    #expect(error?.code == .invalidValue)
    #expect(try store.fetch("Person").isEmpty)
  }

  @Test func `a conflict shows the stored row to a second store of a model whose file got a subentity in between`()
    throws
  {
    func catalogue(withVinyl: Bool) throws -> ManagedObjectModel {
      try ManagedObjectModel(
        entities: [Entity("Item") { Attribute("name", .string) }] + (withVinyl ? [Entity("Vinyl", parent: "Item")] : [])
      )
    }
    let place = try TemporaryStore()
    let model = try catalogue(withVinyl: false)
    let first = try place.open(model)
    let row = try first.insert("Item", ["name": .string("a")])
    try first.save(row.update(["name": .string("b")]))
    let stale = row.update(["name": .string("mine")], from: 1)
    #expect(throws: StoreConflict.Failure.self) { try first.save(stale) }
    try place.open(catalogue(withVinyl: true)).close()
    // The second store reads the name of the entity too. Both stores share the connection that writes.
    let second = try place.open(model)
    let failure = #expect(throws: StoreConflict.Failure.self) { try second.save(stale) }
    #expect(failure?.conflicts.first?.storeRow?["name"] == .string("b"))
  }

  @Test func `a dangling reference is refused with its record named`() throws {
    let nobody = ManagedObjectID(space: store.spaces[store.entity("Person")], key: 4711)
    let row = try store.row("Person", ["boss": .reference(nobody)])
    let error = #expect(throws: CoherenceError.self) { try store.save(.insert(row.entity, [row])) }
    #expect(error?.code == .danglingReference)
    #expect(error?.objectIDs == [row.id])
    #expect(try store.fetch("Person").isEmpty)
  }

  @Test func `rows that refer to each other are written in steps`() throws {
    let keys = try store.allocateKeys(2, for: store.entity("Person"))
    let space = store.spaces[store.entity("Person")]
    let ids = keys.map { ManagedObjectID(space: space, key: $0) }
    let one = try store.row("Person", ["name": .string("1")], key: ids[0].key)
    let two = try store.row("Person", ["name": .string("2"), "boss": .reference(ids[0])], key: ids[1].key)
    let fixed = one.changed(["boss": .reference(ids[1]), "boss.position": .int(3)], version: 1)
    try store.save(.insert(one.entity, [one, two]), .fix(one.entity, slots: slots("boss", "boss.position"), [fixed]))
    let found = try #require(try store.current(one))
    #expect(found["boss"] == .reference(ids[1]))
    #expect(found["boss.position"] == .int(3))
    #expect(found.version == 1)
  }

  @Test func `keys are never handed out twice`() throws {
    let entity = store.entity("Person")
    var seen: Set<Int64> = []
    for count in [1, 1, 100, 3, 64, 1] {
      let keys = try store.allocateKeys(count, for: entity)
      #expect(keys.count == count)
      for key in keys { #expect(seen.insert(key).inserted) }
    }
    let foreign = try store.row("Person", key: 100_000)
    try store.save(.insert(entity, [foreign]))
    store.close()
    let again = try SQLiteStoreFactory().open(store.environment)
    #expect(try again.allocateKeys(1, for: entity).lowerBound > 100_000)
  }

  /// Takes the key of a reservation during which a later one arrives, the key of the later one, and a following key.
  ///
  /// - Parameter discardingLater: Whether the keys of the later reservation are discarded before the earlier one arrives.
  private func takeKeys(discardingLater: Bool) throws -> [Int64] {
    let root = store.entity("Person")
    let blocks = KeyBlocks()
    var next: Int64 = 1
    func reserve(_ count: Int) -> Range<Int64> {
      defer { next += Int64(count) }
      return next..<(next + Int64(count))
    }
    var later: [Int64] = []
    let earlier = try blocks.take(1, of: root) { count in
      let reserved = reserve(count)
      later += try blocks.take(1, of: root) { reserve($0) }
      if discardingLater { blocks.discard(of: root) }
      return reserved
    }
    let following = try blocks.take(1, of: root) { reserve($0) }
    return Array(earlier) + later + Array(following)
  }

  @Test func `keys ascend although an earlier reservation arrives after a later one`() throws {
    let keys = try takeKeys(discardingLater: false)
    #expect(keys.count == 3 && keys == keys.sorted() && Set(keys).count == 3)
  }

  @Test func `keys ascend although the keys of a later reservation are discarded before an earlier one arrives`() throws
  {
    let keys = try takeKeys(discardingLater: true)
    #expect(keys.count == 3 && keys == keys.sorted() && Set(keys).count == 3)
  }

  @Test func `the keys of each of several threads that take keys at once ascend`() {
    let root = store.entity("Person")
    let blocks = KeyBlocks()
    let nextKey = Mutex<Int64>(1)
    let failures = Mutex<[String]>([])
    DispatchQueue.concurrentPerform(iterations: 4) { thread in
      var last: Int64 = 0
      for round in 0..<2_000 {
        // A request that finds too few keys leaves them in the block for a smaller request.
        let count = 1 + (round * 7 + thread * 13) % 40
        do {
          let keys = try blocks.take(count, of: root) { number in
            nextKey.withLock { next -> Range<Int64> in
              defer { next += Int64(number) }
              return next..<(next + Int64(number))
            }
          }
          if keys.count != count || keys.lowerBound <= last {
            failures.withLock { $0.append("\(thread): \(keys) after \(last)") }
          }
          last = keys.upperBound - 1
        } catch {
          failures.withLock { $0.append("\(thread): \(error)") }
        }
      }
    }
    #expect(failures.withLock { $0 } == [])
  }

  @Test func `a batch update raises versions and returns identifiers`() throws {
    let batch = try #require(store as? any BatchExecuting)
    let one = try store.insert("Person", ["name": .string("a")])
    let two = try store.insert("Person", ["name": .string("b")])
    let slot = store.entity("Person").slots.firstIndex { $0.name == "name" }!
    let query = StoreQuery(entity: store.entity("Person"), predicate: .path("name", .equal, .string("a")))
    #expect(try batch.batchUpdate(query, values: [slot: .string("c")]) == [one.id])
    #expect(try store.current(one)?.version == 2)
    #expect(try store.current(one)?["name"] == .string("c"))
    #expect(try store.current(two)?.version == 1)
    var residual = query
    residual.predicate = .path("name", .matches, .string("c"))
    #expect(try batch.batchUpdate(residual, values: [slot: .string("d")]) == nil)
  }

  @Test func `a batch delete clears the references to deleted records`() throws {
    let batch = try #require(store as? any BatchExecuting)
    let boss = try store.insert("Person", ["name": .string("boss")])
    let staff = try store.insert("Person", ["boss": .reference(boss.id), "boss.position": .int(0)])
    let query = StoreQuery(entity: store.entity("Person"), predicate: .path("name", .equal, .string("boss")))
    let outcome = try #require(try batch.batchDelete(query))
    #expect(outcome.deleted == [boss.id])
    #expect(outcome.updated == [staff.id])
    let found = try #require(try store.current(staff))
    #expect(found["boss"] == .null)
    #expect(found["boss.position"] == .null)
    #expect(found.version == 2)
  }
}
