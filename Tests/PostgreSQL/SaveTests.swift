import CoherenceCore
@testable import CoherencePostgreSQL
import CoherenceSQL
import Foundation
import TestSupport
import Testing

@Suite(.needsServer) struct SaveTests {
  private let schema: TemporarySchema
  private let store: any PersistentStore

  init() throws {
    schema = try TemporarySchema()
    store = try schema.open(PeopleModel.make())
  }

  private var person: EntityDescription { store.entity("Person") }

  @Test func `a row that a large insert fails by is named`() throws {
    let taken = try store.insert("Person", ["email": .string("7")])
    let rows = try (0..<1000).map { try store.row("Person", ["email": .string("\($0)")]) }
    let error = #expect(throws: CoherenceError.self) { try store.save(.insert(person, rows)) }
    #expect(error?.code == .uniquenessViolated)
    #expect(error?.objectIDs == [rows[7].id, taken.id])
    #expect(try store.fetch("Person").map(\.id) == [taken.id])
    try store.save(.insert(person, rows.filter { $0.id != rows[7].id }))
    #expect(try store.fetch("Person").count == 1000)
  }

  /// Many people, saved, and an update of all of them.
  private func crowd() throws -> (rows: [Row], update: SaveStep) {
    let rows = try (0..<5000).map {
      try store.row("Person", ["name": .string("\($0)"), "email": $0 % 3 == 0 ? .null : .string("\($0)")])
    }
    try store.save(.insert(person, rows))
    let slots = SlotSet([person.attribute(named: "name")!.slot, person.attribute(named: "email")!.slot])
    let updates = rows.enumerated().map { place, row in
      let email = place % 2 == 0 ? AttributeValue.null : .string("new \(place)")
      return RowUpdate(row: row.changed(["name": .string("name \(place)"), "email": email]), baseVersion: 1)
    }
    return (rows, .update(person, slots: slots, updates))
  }

  @Test func `a large update writes each row's own values, and a large delete deletes all rows`() throws {
    let (rows, update) = try crowd()
    try store.save(update)
    let found = try store.fetch("Person")
    #expect(found.map(\.id) == rows.map(\.id))
    #expect(found.allSatisfy { $0.version == 2 })
    #expect(found.map { $0["name"] } == rows.indices.map { .string("name \($0)") })
    #expect(found.map { $0["email"] } == rows.indices.map { $0 % 2 == 0 ? .null : .string("new \($0)") })
    try store.save(.delete(person, rows.map { RowDelete(id: $0.id, baseVersion: 2) }))
    #expect(try store.fetch("Person").isEmpty)
  }

  @Test func `rows that a large save meets at another version are named, and nothing is applied`() throws {
    let (rows, update) = try crowd()
    try store.save(rows[17].update(["name": .string("changed")]))
    try store.save(.delete(person, [RowDelete(id: rows[4999].id, baseVersion: 1)]))
    let updated = #expect(throws: StoreConflict.Failure.self) { try store.save(update) }
    #expect(updated?.conflicts.map(\.id) == [rows[17].id, rows[4999].id])
    #expect(updated?.conflicts.first?.storeRow?["name"] == .string("changed"))
    let deleted = #expect(throws: StoreConflict.Failure.self) {
      try store.save(.delete(person, rows.map { RowDelete(id: $0.id, baseVersion: 1) }))
    }
    #expect(deleted?.conflicts.map(\.id) == [rows[17].id, rows[4999].id])
    #expect(try store.fetch("Person").filter { $0.version == 1 }.count == 4998)
  }

  @Test func `a row that a large update fails by is named`() throws {
    let (rows, update) = try crowd()
    let holder = try store.insert("Person", ["email": .string("new 77")])
    let error = #expect(throws: CoherenceError.self) { try store.save(update) }
    #expect(error?.code == .uniquenessViolated)
    #expect(error?.objectIDs == [rows[77].id, holder.id])
    #expect(try store.current(rows[0])?.version == 1)
  }

  @Test func `a reference to a missing record is refused and the error names both records`() throws {
    let nobody = ManagedObjectID(space: store.spaces[person], key: 4711)
    let row = try store.row("Person", ["boss": .reference(nobody)])
    let error = #expect(throws: CoherenceError.self) { try store.save(.insert(person, [row])) }
    #expect(error?.code == .danglingReference)
    #expect(error?.objectIDs == [row.id, nobody])
  }

  @Test func `deleting a referenced record is refused`() throws {
    let boss = try store.insert("Person")
    let clerk = try store.insert("Person", ["boss": .reference(boss.id)])
    let error = #expect(throws: CoherenceError.self) {
      try store.save(.delete(person, [RowDelete(id: boss.id, baseVersion: 1)]))
    }
    #expect(error?.code == .danglingReference)
    #expect(error?.objectIDs == [clerk.id, boss.id])
  }

  @Test func `links are added, moved and removed`() throws {
    guard case .links(let table, _)? = person.relationship(named: "friends")?.storage else {
      Issue.record("friends are links")
      return
    }
    let rows = try (0..<3).map { _ in try store.insert("Person") }
    let links = rows.dropFirst().map { Link(source: rows[0].key, target: $0.key) }
    try store.save(.link(table, Array(links)))
    try store.save(.link(table, [Link(source: rows[0].key, target: rows[1].key, sourcePosition: 9)]))
    #expect(
      try store.reading { try $0.links(table, of: [rows[0].key], fromSource: true) } == [
        links[1], Link(source: rows[0].key, target: rows[1].key, sourcePosition: 9),
      ])
    try store.save(.unlink(table, [links[0]]))
    #expect(try store.reading { try $0.links(table, of: [rows[2].key], fromSource: false) } == [links[1]])
    let nobody = Link(source: rows[0].key, target: 4711)
    let error = #expect(throws: CoherenceError.self) { try store.save(.link(table, [nobody])) }
    #expect(error?.code == .danglingReference)
    #expect(error?.objectIDs.map(\.key) == [rows[0].key, 4711])
  }

  @Test(arguments: ["check_violation", "unique_violation", "P0001"])
  func `the error of a save that a trigger refuses has no value of the record, whatever code the trigger gives`(
    code: String
  ) throws {
    _ = try schema.administration().run(
      [
        """
        CREATE FUNCTION \(name: "refuse") () RETURNS trigger LANGUAGE plpgsql AS \
        'BEGIN RAISE EXCEPTION ''refused: %'', NEW USING ERRCODE = TG_ARGV[0]; END'
        """,
        """
        CREATE TRIGGER \(name: "refuse") BEFORE INSERT ON \(name: "Person") \
        FOR EACH ROW EXECUTE FUNCTION \(name: "refuse") (\(name: code))
        """,
      ], isPrepared: false)
    let error = #expect(throws: CoherenceError.self) { try store.insert("Person", ["name": .string("secret")]) }
    let failure = try #require(error?.serverFailure)
    #expect(failure.message == nil && !failure.description.contains("secret"))
    #expect(error?.message.contains("secret") == false)
    #expect(error?.message.contains("has the key") == false, "No key of a record is taken.")
  }

  @Test func `saves in a deadlock are repeated`() async throws {
    let store = store
    let rows = try (0..<40).map { _ in try store.insert("Person") }
    let entity = person
    let slots = SlotSet([entity.attribute(named: "name")!.slot])
    func write(_ order: [Row], _ name: String) throws {
      while true {
        let updates = try order.compactMap { try store.current($0) }.map {
          RowUpdate(row: $0.changed(["name": .string(name)]), baseVersion: $0.version)
        }
        do {
          return try store.save(.update(entity, slots: slots, updates))
        } catch is StoreConflict.Failure {
          continue
        }
      }
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { for round in 0..<10 { try write(rows, "up \(round)") } }
      group.addTask { for round in 0..<10 { try write(rows.reversed(), "down \(round)") } }
      try await group.waitForAll()
    }
    #expect(try store.fetch("Person").allSatisfy { $0.version == 21 })
  }

  @Test func `no two writers get the same key`() async throws {
    let stores = try (0..<3).map { _ in try schema.open(store.environment.model) }
    let keys = try await withThrowingTaskGroup(of: [Int64].self) { group in
      for store in stores {
        group.addTask {
          try (0..<50).flatMap { try Array(store.allocateKeys($0 % 9 + 1, for: store.entity("Person"))) }
        }
      }
      return try await group.reduce(into: []) { $0 += $1 }
    }
    #expect(Set(keys).count == keys.count)
    let stranger = try store.row("Person", key: (keys.max() ?? 0) + 100_000)
    try store.save(.insert(person, [stranger]))
    let fresh = try schema.open(store.environment.model).allocateKeys(1, for: person)
    #expect(fresh.lowerBound > stranger.key)
  }

  @Test func `a store opened for reading refuses to save`() throws {
    let row = try store.insert("Person")
    let reader = try schema.open(store.environment.model, options: [StoreOption.readOnly: true])
    #expect(try reader.current(row)?.id.key == row.key)
    let error = #expect(throws: CoherenceError.self) { try reader.save(row.update(["name": .string("x")])) }
    #expect(error?.code == .storeReadOnly)
  }
}
