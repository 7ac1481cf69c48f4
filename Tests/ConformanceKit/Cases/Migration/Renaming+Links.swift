import CoherenceCore

extension ConformanceSubject {
  /// People who follow each other, with a name of choice for the followers: by the names of the two relationships it is
  /// decided which one a link begins at.
  private static func people(_ followers: String, formerly former: String? = nil) throws -> ManagedObjectModel {
    try ManagedObjectModel {
      Entity("Person") {
        Attribute("name", .string)
        Relationship("follows", toMany: "Person", inverse: followers, ordered: true)
        Relationship(followers, toMany: "Person", inverse: "follows", maximumCount: 2, renamingIdentifier: former)
      }
    }
  }

  /// Boxes with items in an order, with names of choice for both entities and for the two relationships.
  private static func boxes(
    _ box: (name: String, items: String) = ("Box", "items"), _ item: (name: String, boxes: String) = ("Item", "boxes")
  ) throws -> ManagedObjectModel {
    func former(_ name: String, _ first: String) -> String? { name == first ? nil : first }
    return try ManagedObjectModel {
      Entity(box.name, renamingIdentifier: former(box.name, "Box")) {
        Attribute("name", .string)
        Relationship(
          box.items, toMany: item.name, inverse: item.boxes, ordered: true,
          renamingIdentifier: former(box.items, "items"))
      }
      Entity(item.name, renamingIdentifier: former(item.name, "Item")) {
        Attribute("name", .string)
        Relationship(
          item.boxes, toMany: box.name, inverse: box.items, renamingIdentifier: former(item.boxes, "boxes"))
      }
    }
  }

  private static func fillPeople(_ context: ManagedObjectContext) throws {
    let people = try ["A", "B", "C", "D"].map { try context.make("Person", ["name": $0]) }
    try people[0].setObjects([people[2], people[1], people[3]], for: "follows")
    try people[1].setObjects([people[3]], for: "follows")
  }

  private static func person(_ name: String, _ context: ManagedObjectContext) throws -> ManagedObject {
    try context.one("Person", where: equal("name", name))
  }

  @CasesBuilder static var turnedLinks: [Case] {
    Case("links of relationships that swap sides by renaming keep direction, order and limits") {
      stack in
      try stack.reopen(at: try stack.makeLocation(), model: try people("followers"))
      try stack.write(fillPeople)
      let first = stack.model
      let second = try people("watchers", formerly: "followers")
      try stack.reopen(model: second)
      try stack.write { context in
        try expectEqual(try person("A", context).labels(of: "follows"), ["C", "B", "D"])
        try expectEqual(try person("D", context).labels(of: "watchers"), ["A", "B"])
        try expectEqual(try person("A", context).labels(of: "watchers"), [])
        try expectEqual(try context.names("Person", where: memberCount("watchers", .equal, 1)), ["B", "C"])
        try expectEqual(try context.names("Person", where: memberCount("follows", .equal, 3)), ["A"])
        // A new link, a removed one, and another order.
        try person("C", context).setObjects([try person("A", context)], for: "follows")
        try person("A", context).setObjects([try person("B", context), try person("C", context)], for: "follows")
      }
      try stack.reopen()
      try stack.read { context in
        try expectEqual(try person("A", context).labels(of: "watchers"), ["C"])
        try person("C", context).setObjects(["D", "A"].map { try person($0, context) }, for: "follows")
        try person("B", context).setObjects(["D", "A"].map { try person($0, context) }, for: "follows")
        try person("A", context).setObjects(["D"].map { try person($0, context) }, for: "follows")
        _ = try expectThrows(.validationFailed) { try context.save() }
        context.rollback()
      }
      try stack.reopen(model: first)
      try stack.read { context in
        try expectEqual(try person("A", context).labels(of: "follows"), ["B", "C"])
        try expectEqual(try person("C", context).labels(of: "follows"), ["A"])
        try expectEqual(try person("D", context).labels(of: "followers"), ["B"])
        try expectEqual(try context.names("Person", where: memberCount("followers", .equal, 1)), ["A", "B", "C", "D"])
      }
      try stack.reopen(model: second)
      try stack.read { try expectEqual(try person("A", $0).labels(of: "follows"), ["B", "C"]) }
    }
    Case("links keep direction and order when all names of their relationships change sides") { stack in
      try stack.reopen(at: try stack.makeLocation(), model: try boxes())
      try stack.write { context in
        let boxes = try ["A", "B"].map { try context.make("Box", ["name": $0]) }
        let items = try ["x", "y", "z"].map { try context.make("Item", ["name": $0]) }
        try boxes[0].setObjects([items[2], items[0], items[1]], for: "items")
        try boxes[1].setObjects([items[0]], for: "items")
      }
      let first = stack.model
      let second = try boxes(("Vessel", "wares"), ("Article", "vessels"))
      try stack.reopen(model: second)
      try stack.write { context in
        let vessel = try context.one("Vessel", where: equal("name", "A"))
        try expectEqual(try vessel.labels(of: "wares"), ["z", "x", "y"])
        try expectEqual(try context.one("Article", where: equal("name", "x")).labels(of: "vessels"), ["A", "B"])
        try expectEqual(try context.one("Article", where: equal("name", "z")).labels(of: "vessels"), ["A"])
        try expectEqual(try context.names("Vessel", where: memberCount("wares", .equal, 3)), ["A"])
        let other = try context.one("Vessel", where: equal("name", "B"))
        try other.setObjects(["z", "y"].map { try context.one("Article", where: equal("name", $0)) }, for: "wares")
      }
      try stack.reopen(model: first)
      try stack.read { context in
        try expectEqual(try context.one("Box", where: equal("name", "A")).labels(of: "items"), ["z", "x", "y"])
        try expectEqual(try context.one("Box", where: equal("name", "B")).labels(of: "items"), ["z", "y"])
        try expectEqual(try context.one("Item", where: equal("name", "x")).labels(of: "boxes"), ["A"])
      }
    }
    Case("links of a left-out relationship are not those of a new relationship with a part of its hyphenated name") {
      stack in
      func model(_ relationship: String) throws -> ManagedObjectModel {
        try ManagedObjectModel {
          Entity("Person") {
            Attribute("name", .string)
            Relationship(relationship, toMany: "Person", inverse: nil)
          }
        }
      }
      let first = try model("old-friends")
      try stack.reopen(at: try stack.makeLocation(), model: first)
      try stack.write { context in
        let people = try ["A", "B"].map { try context.make("Person", ["name": $0]) }
        try people[0].setObjects([people[1]], for: "old-friends")
      }
      try stack.reopen(model: try model("new-friends"))
      try stack.read { try expectEqual(try person("A", $0).labels(of: "new-friends"), []) }
      try stack.reopen(model: first)
      try stack.read { try expectEqual(try person("A", $0).labels(of: "old-friends"), ["B"]) }
    }
    Case("links whose inverse a model leaves out are refused with their number") { stack in
      let (original, error) = try refusal(stack) {
        Library.replace("tags", in: &$0.book, by: Relationship("tags", toMany: "Tag", inverse: nil))
        Library.replace("books", in: &$0.tag)
      }
      try expectEqual(error.dataLosses.map(\.count), [2])
      try stack.reopen(model: original)
      try stack.read { try expectEqual(try $0.one("Tag").labels(of: "books"), ["Edda", "Egla"]) }
    }
    Case("moving the to-one side of a relationship to the other side is refused with the number of links") { stack in
      let (original, error) = try refusal(stack) {
        Library.replace("author", in: &$0.book, by: Relationship("author", toMany: "Author", inverse: "books"))
        Library.replace("books", in: &$0.author, by: Relationship("books", toOne: "Book", inverse: "author"))
      }
      try expect(error.message.contains("author"), "the message to name the relationship")
      try stack.reopen(model: original)
      try stack.read { try expectEqual(try $0.one("Author").labels(of: "books"), ["Edda", "Egla"]) }
    }
  }
}
