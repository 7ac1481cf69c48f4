import CoherenceCore
import Testing

/// Paths as texts, with names separated by dots.
@Suite struct PropertyPathTests {
  @Test(arguments: [
    ("a", ["a"]), ("a.b.c", ["a", "b", "c"]), ("", [""]), ("a..b", ["a", "", "b"]), (".a.", ["", "a", ""]),
    ("a.\u{301}b", ["a", "\u{301}b"]), ("e\u{301}.b", ["e\u{301}", "b"]),
  ])
  func `a dot separates two names, also before a combining mark`(text: String, names: [String]) {
    let path = PropertyPath(text)
    #expect(path.names.map { Array($0.utf8) } == names.map { Array($0.utf8) })
    #expect(path == PropertyPath(names: names))
  }

  @Test func `conditions, orders, groups and relationships to load have names that begin with a mark`() throws {
    let model = try ManagedObjectModel {
      Entity("Owner") {
        Attribute("\u{301}x", .string)
        Relationship("\u{301}boss", toOne: "Owner", inverse: nil)
      }
      Entity("Item") { Relationship("owner", toOne: "Owner", inverse: nil) }
    }
    let context = ManagedObjectContext(coordinator: try PersistentStoreCoordinator(inMemory: model))
    try context.performAndWait {
      for name in ["b", "a"] {
        let owner = try context.insertNewObject(forEntityName: "Owner")
        try owner.setValue(name, for: "\u{301}x")
        try context.insertNewObject(forEntityName: "Item").setObject(owner, for: "owner")
      }
      try context.save()
      let items = FetchRequest<ManagedObject>(entityName: "Item").sort("owner.\u{301}x").prefetch("owner.\u{301}boss")
      let owners = try context.fetch(items).compactMap { try $0.object(for: "owner") }
      let names = try owners.map { try $0.value(for: "\u{301}x", as: String.self) }
      #expect(names == ["a", "b"])
      let named = items.filter(try FetchPredicate(format: "%K == %@", "owner.\u{301}x", "b"))
      #expect(try context.count(for: named) == 1)
      let column = ResultColumn.maximum(of: "owner.\u{301}x", named: "m")
      let groups = AggregateRequest(FetchRequest<ManagedObject>(entityName: "Item"), propertiesToFetch: [column])
      #expect(try context.fetchDictionaries(groups).first?["m"] == .string("b"))
    }
  }
}
