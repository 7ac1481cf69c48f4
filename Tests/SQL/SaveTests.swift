import CoherenceCore
import TestSupport
import Testing

/// Saves of rows without a context, and the errors of refused saves.
@Suite struct SaveTests {
  /// Runs a block with a new store of people.
  private func opened(_ backend: Backend, _ body: (any PersistentStore) throws -> Void) throws {
    let stack = try LoggedStore(backend, PeopleModel.make())
    defer { stack.close() }
    try body(stack.store)
  }

  @Test(arguments: Backend.availableSQL)
  func `an update writes its slots and the version`(backend: Backend) throws {
    try opened(backend) { store in
      let row = try store.insert("Person", ["name": .string("a"), "email": .string("e")])
      try store.save(row.update(["name": .string("b")]))
      let found = try #require(try store.current(row))
      #expect(found.version == 2)
      #expect(found["name"] == .string("b"))
      #expect(found["email"] == .string("e"))
    }
  }

  @Test(arguments: Backend.availableSQL)
  func `every conflict of a save is reported and nothing is applied`(backend: Backend) throws {
    try opened(backend) { store in
      let one = try store.insert("Person", ["name": .string("one")])
      let two = try store.insert("Person", ["name": .string("two")])
      let three = try store.insert("Person", ["name": .string("three")])
      try store.save(one.update(["name": .string("changed")]))
      try store.save(.delete(two.entity, [RowDelete(id: two.id, baseVersion: 1)]))
      let failure = #expect(throws: StoreConflict.Failure.self) {
        try store.save(
          three.update(["name": .string("new")]), one.update(["name": .string("mine")]),
          .delete(two.entity, [RowDelete(id: two.id, baseVersion: 1)]))
      }
      #expect(failure?.conflicts.map(\.id) == [one.id, two.id])
      #expect(failure?.conflicts.first?.storeRow?["name"] == .string("changed"))
      #expect(failure?.conflicts.last?.storeRow == nil)
      #expect(try store.current(three)?["name"] == .string("three"))
    }
  }

  @Test(arguments: Backend.availableSQL)
  func `a second save succeeds after another program has inserted a record with a reserved key`(
    backend: Backend
  ) throws {
    let stack = try LoggedStore(backend, PeopleModel.make())
    defer { stack.close() }
    let reserved = try stack.store.insert("Person", ["name": .string("a")])
    let taken = try stack.store.row("Person", ["name": .string("b")], key: reserved.key + 1)
    try stack.store.save(.insert(taken.entity, [taken]))
    let context = stack.context()
    try context.performAndWait {
      let person = try context.insertNewObject(forEntityName: "Person")
      try person.setValue("c", for: "name")
      let error = #expect(throws: CoherenceError.self) { try context.save() }
      #expect(error?.code == .uniquenessViolated && error?.objectIDs == [person.objectID])
      try context.save()
      #expect(!context.hasChanges)
    }
    let names = Set(try stack.store.fetch("Person").map { $0["name"] })
    #expect(names == [.string("a"), .string("b"), .string("c")])
  }

  @Test(arguments: Backend.availableSQL)
  func `a save compares versions before it checks unique values`(backend: Backend) throws {
    try opened(backend) { store in
      let one = try store.insert("Person", ["email": .string("taken")])
      let two = try store.insert("Person", ["email": .string("free")])
      try store.save(one.update(["name": .string("x")]))
      let double = try store.row("Person", ["email": .string("taken")])
      let error = #expect(throws: CoherenceError.self) { try store.save(.insert(double.entity, [double])) }
      #expect(error?.code == .uniquenessViolated)
      #expect(error?.objectIDs == [double.id, one.id])
      #expect(error?.outcome == .notApplied)
      #expect(error.map { "\($0) \($0.underlying.map { "\($0)" } ?? "")".contains("taken") } == false)
      #expect(throws: StoreConflict.Failure.self) {
        try store.save(two.update(["email": .string("taken")]), one.update(["name": .string("y")], from: 1))
      }
    }
  }
}
