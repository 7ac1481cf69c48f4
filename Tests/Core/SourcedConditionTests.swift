import CoherenceCore
import CoherenceInMemory
import Testing

/// The text of the condition of a fetched property: quoted texts and names around the variable.
@Suite struct SourcedConditionTests {
  /// The names of the items that a fetched property with a condition finds for the item `a`.
  private func found(where condition: String) throws -> Set<String> {
    let model = try ManagedObjectModel {
      Entity("Item") {
        Attribute("name", .string)
        Attribute("it's", .string, optional: true)
        Attribute("cost$", .int32, optional: true)
        FetchedProperty("found", of: "Item", where: condition)
      }
    }
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(type: .inMemory)
    let context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
    return try context.performAndWait {
      var items: [ManagedObject] = []
      for (name, other, cost) in [("a", "b", 9), ("b", "a", 3), ("\u{301}x", "c", 9), ("it's $FETCH_SOURCE", "c", 9)] {
        let item = try context.insertNewObject(forEntityName: "Item")
        try item.setValue(name, for: "name")
        try item.setValue(other, for: "it's")
        try item.setValue(cost, for: "cost$")
        items.append(item)
      }
      return Set(try items[0].fetchedObjects(for: "found").map { try $0.value(for: "name", as: String.self) })
    }
  }

  @Test func `a name in backticks may have a quotation mark or a dollar sign`() throws {
    #expect(try found(where: "`it's` == $FETCH_SOURCE.name") == ["b"])
    #expect(try found(where: "$FETCH_SOURCE.name == `it's`") == ["b"])
    #expect(try found(where: "`cost$` < 5 AND name != $FETCH_SOURCE.name") == ["b"])
  }

  @Test func `a quoted text may begin with a combining mark`() throws {
    #expect(try found(where: "name == '\u{301}x' AND name != $FETCH_SOURCE.name") == ["\u{301}x"])
    #expect(try found(where: "name == \"\u{301}x\" AND name != $FETCH_SOURCE.name") == ["\u{301}x"])
  }

  @Test func `a quoted text may have the variable and an escaped quotation mark`() throws {
    let text = "name == 'it\\'s $FETCH_SOURCE' AND name != $FETCH_SOURCE.name"
    #expect(try found(where: text) == ["it's $FETCH_SOURCE"])
  }
}
