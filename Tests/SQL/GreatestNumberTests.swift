import CoherenceCore
import TestSupport
import Testing

/// The greatest keys and versions of records, which only another program writes.
@Suite struct GreatestNumberTests {
  @Test(arguments: Backend.available)
  func `a store has no key for a new record behind the greatest key, and the save throws`(backend: Backend) throws {
    let stack = try LoggedStore(backend, PeopleModel.make())
    defer { stack.close() }
    let last = try stack.store.row("Person", ["name": .string("last")], key: .max)
    try stack.store.save(.insert(last.entity, [last]))
    let context = stack.context()
    try context.performAndWait {
      _ = try context.insertNewObject(forEntityName: "Person")
      let error = #expect(throws: CoherenceError.self) { try context.save() }
      #expect(error?.code == .limitExceeded)
      context.rollback()
      let person = try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: "Person")).first)
      try person.setValue("changed", for: "name")
      try context.save()
    }
    #expect(try stack.store.current(last)?["name"] == .string("changed"))
  }

  @Test(arguments: Backend.available)
  func `a record with the greatest version can be read, and a save that changes the record throws`(
    backend: Backend
  ) throws {
    let stack = try LoggedStore(backend, PeopleModel.make())
    defer { stack.close() }
    let row = try stack.store.row("Person", ["name": .string("old")], version: .max)
    try stack.store.save(.insert(row.entity, [row]))
    let context = stack.context()
    try context.performAndWait {
      let person = try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: "Person")).first)
      try person.setValue("new", for: "name")
      let error = #expect(throws: CoherenceError.self) { try context.save() }
      #expect(error?.code == .storeCorrupt)
      #expect(error?.objectIDs == [row.id])
    }
    #expect(try stack.store.current(row)?["name"] == .string("old"))
  }
}
