import CoherenceCore
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
    let context = ManagedObjectContext(coordinator: try PersistentStoreCoordinator(inMemory: model))
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

  /// The error of a model whose item has a fetched property with a condition; `nil` for a valid one.
  private func fault(_ condition: String?, of destination: String = "Item") -> String? {
    do {
      _ = try ManagedObjectModel {
        Entity("Base") { Attribute("code", .string) }
        Entity("Item", parent: "Base") {
          Attribute("name", .string)
          CompositeAttribute("size", parts: [Attribute("width", .double)])
          Relationship("friend", toOne: "Item", inverse: nil)
          Relationship("others", toMany: "Item", inverse: nil)
          FetchedProperty("found", of: destination, where: condition)
        }
      }
      return nil
    } catch {
      return (error as? CoherenceError)?.message
    }
  }

  @Test(arguments: [
    "name", "code", "size.width", "friend", "friend.name", "friend.friend.code", "friend.size.width", "friend.others",
  ])
  func `a condition may name attributes, parts and relationships of its source, and those of its targets`(path: String)
  {
    let relation = path == "friend.others" ? "IN" : "=="
    #expect(fault("name \(relation) $FETCH_SOURCE.\(path)") == nil)
    #expect(fault("SELF IN $FETCH_SOURCE.others OR SELF == $FETCH_SOURCE") == nil)
  }

  @Test(arguments: [
    "none", "name.x", "size", "size.none", "size.width.x", "others.name", "friend.none", "friend.others.name",
  ])
  func `a condition that names another property of its source is refused with the whole path`(path: String) {
    #expect(
      fault("name == $FETCH_SOURCE.\(path)")
        == "The fetched property 'Item.found' names '\(path)' of its source, which 'Item' does not have.")
  }

  @Test func `other variables, unreadable conditions and unknown entities are refused`() {
    #expect(
      fault("name == $OTHER AND code == $ANOTHER AND name != $FETCH_SOURCE.name")
        == "The fetched property 'Item.found' names the variable '$ANOTHER'; only '$FETCH_SOURCE' has a value. "
        + "The fetched property 'Item.found' names the variable '$OTHER'; only '$FETCH_SOURCE' has a value.")
    #expect(
      fault("name ==")?.hasPrefix("The fetched property 'Item.found' has a condition that cannot be read") == true)
    #expect(
      fault(nil, of: "None") == "The fetched property 'Item.found' is of 'None', which the model does not have.")
    #expect(fault(nil) == nil)
  }

  @Test func `a fetched property keeps its parts, and a new condition replaces the former one`() throws {
    var property = FetchedProperty(
      "found", of: "Item", where: "name == $OTHER", sortedBy: [SortKey("name")], limit: 3, includesSubentities: false,
      userInfo: ["k": "v"])
    #expect(property.sortKeys == [SortKey("name")] && property.fetchLimit == 3 && !property.includesSubentities)
    #expect(property.userInfo == ["k": "v"] && FetchedProperty("found", of: "Item").includesSubentities)
    property.predicate = "name == 'b'"
    let model = try ManagedObjectModel {
      Entity("Item") {
        Attribute("name", .string)
        property
        FetchedProperty("all", of: "Item")
      }
    }
    let entity = try model.entity(named: "Item")
    #expect(entity.fetchedProperties.map(\.name) == ["all", "found"])
    let context = ManagedObjectContext(coordinator: try PersistentStoreCoordinator(inMemory: model))
    try context.performAndWait {
      let items = try ["a", "b"].map { name in
        let item = try context.insertNewObject(forEntityName: "Item")
        try item.setValue(name, for: "name")
        return item
      }
      #expect(try items[0].fetchedObjects(for: "found") == [items[1]])
      let error = #expect(throws: CoherenceError.self) { try items[0].fetchedObjects(for: "none") }
      #expect(error?.message == "'Item' has no fetched property 'none'; it has: all, found.")
    }
  }
}
