import CoherenceCore
import TestSupport
import Testing

/// The numbers of rows from which one statement writes all rows of a step.
@Suite(.needsServer) struct BulkThresholdTests {
  private let stack: LoggedStore
  private var store: any PersistentStore { stack.store }

  init() throws { stack = try LoggedStore(.postgreSQL, PeopleModel.make()) }

  private func rows(_ count: Int) throws -> [Row] {
    try (0..<count).map { number in try store.row("Person", ["name": .string("\(number)")]) }
  }

  /// Saves steps, and returns the number of logged messages with a beginning.
  private func count(of beginning: String, in steps: SaveStep...) throws -> Int {
    stack.log.removeAll()
    try store.save(StoreSaveRequest(steps: steps))
    return stack.log.messages.count { $0.hasPrefix(beginning) }
  }

  @Test func `five hundred rows of a step are copied, and fewer are inserted one by one`() throws {
    let person = store.entity("Person")
    #expect(try count(of: #"COPY "Person""#, in: .insert(person, rows(499))) == 0)
    #expect(try count(of: #"COPY "Person""#, in: .insert(person, rows(500))) == 1)
    #expect(try store.fetch("Person").count == 999)
  }

  @Test func `one statement updates or deletes thirty-two rows, and fewer are written one by one`() throws {
    let person = store.entity("Person")
    let slots = SlotSet([try #require(person.attribute(named: "name")?.slot)])
    for (number, statements) in [(31, 0), (32, 1)] {
      let inserted = try rows(number)
      try store.save(.insert(person, inserted))
      let changed = inserted.map { $0.changed(["name": .string("changed")]) }
      let updates = changed.map { RowUpdate(row: $0, baseVersion: 1) }
      #expect(try count(of: #"UPDATE "Person" AS "t""#, in: .update(person, slots: slots, updates)) == statements)
      #expect(
        try store.fetch("Person").map { $0["name"] }
          == Array(repeating: AttributeValue.string("changed"), count: number))
      let deletes = changed.map { RowDelete(id: $0.id, baseVersion: 2) }
      #expect(try count(of: #"DELETE FROM "Person" AS "t""#, in: .delete(person, deletes)) == statements)
      #expect(try store.fetch("Person").isEmpty)
    }
  }

  @Test func `a save without a step sends nothing`() throws {
    #expect(try count(of: "save, ") == 0)
    #expect(try count(of: "save, ", in: .insert(store.entity("Person"), rows(1))) > 0)
  }
}
