import CoherenceCore

extension ConformanceSubject {
  private static var comics: Library {
    base.changed {
      $0.others = [
        Entity("Comic", parent: "Book", uniqueness: [["number"]]) {
          Attribute("artist", .string, optional: true, default: "unknown")
          Attribute("issue", .int32, default: 1)
          Attribute("price", .decimal, optional: true, default: decimal("9.99"))
          Attribute("inker", .string, optional: true)
          Attribute("number", .int32, optional: true)
        }, Entity("Atlas", parent: "Book") { Attribute("scale", .int32, optional: true) },
      ]
    }
  }

  private static func checkNew(_ comic: ManagedObject) throws {
    try expectEqual(try comic.value(for: "artist"), .string("unknown"))
    try expectEqual(try comic.value(for: "issue"), .int(1))
    try expectEqual(try comic.value(for: "price"), .decimal(decimal("9.99")))
    try expectEqual(try comic.value(for: "inker"), .null)
  }

  @CasesBuilder static var propertiesOfSubentitiesLeftOut: [Case] {
    thereAndBack(
      "a record of a subentity written by a program that does not know its attributes has their defaults", from: comics
    ) {
      $0.others = [
        Entity("Comic", parent: "Book"),
        Entity("Atlas", parent: "Book") { Attribute("scale", .int32, optional: true) },
      ]
    } fill: { context in
      try context.make("Comic", ["title": "old", "artist": String?.none, "issue": 7, "price": decimal("1")])
    } meanwhile: { context in
      try context.make("Comic", ["title": "new"])
      try context.make("Book", ["title": "plain"])
      try context.make("Atlas", ["title": "map", "scale": 5])
      // A change of other values leaves attributes unknown to the program unchanged.
      try context.one("Comic", where: equal("title", "old")).setValue(3, for: "pages")
    } back: { context in
      let old = try context.one("Comic", where: equal("title", "old"))
      try expectEqual(try old.value(for: "artist"), .null)
      try expectEqual(try old.value(for: "issue"), .int(7))
      try expectEqual(try old.value(for: "price"), .decimal(decimal("1")))
      try checkNew(try context.one("Comic", where: equal("title", "new")))
      try expectEqual(try context.names("Comic", where: equal("artist", "unknown")), ["new"])
      try expectEqual(try context.one("Atlas").value(for: "scale"), .int(5))
      try expectEqual(try context.names("Book"), ["map", "new", "old", "plain"])
    }
    Case("an open store writes the defaults of subentity attributes that a newer program adds") {
      stack in
      let first = base.changed { $0.others = [Entity("Comic", parent: "Book")] }
      try stack.reopen(at: try stack.makeLocation(), model: try first.model)
      try stack.write { try $0.make("Comic", ["title": "old"]) }
      let coordinator = stack.makeCoordinator(model: try comics.model)
      _ = try stack.attach(stack.location, to: coordinator)
      // The older program opened its store before the columns were there.
      try stack.write { context in
        try context.make("Comic", ["title": "new"])
        try context.make("Book", ["title": "plain"])
      }
      let newer = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
      try newer.performAndWait {
        for title in ["old", "new"] { try checkNew(try newer.one("Comic", where: equal("title", title))) }
        try expectEqual(try newer.number(of: "Book"), 3)
      }
    }
    Case("an open store neither reads nor deletes records that a newer program adds beside the only concrete entity") {
      stack in
      func shapes(_ names: String...) throws -> ManagedObjectModel {
        try ManagedObjectModel(
          entities: [Entity("Shape", isAbstract: true) { Attribute("name", .string) }]
            + names.map { Entity($0, parent: "Shape") })
      }
      try stack.reopen(at: try stack.makeLocation(), model: try shapes("Circle"))
      try stack.write { try $0.make("Circle", ["name": "c"]) }
      let coordinator = stack.makeCoordinator(model: try shapes("Circle", "Square"))
      try stack.attach(stack.location, to: coordinator)
      let newer = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
      try newer.performAndWait {
        try newer.make("Square", ["name": "s"])
        try newer.save()
      }
      try stack.read { context in
        try expectEqual(try context.names("Circle"), ["c"])
        try expectEqual(try context.number(of: "Circle"), 1)
        _ = try context.execute(BatchDeleteRequest(entityName: "Circle"))
      }
      try stack.read { context in _ = try expectThrows(.incompatibleModel) { try context.all("Shape") } }
      try newer.performAndWait { try expectEqual(try newer.names("Shape"), ["s"]) }
    }
    Case("an open store deletes a record under a newer program's relationship once the store is attached again") {
      stack in
      let first = base.changed {
        $0.tag = []
        $0.book = []
        Library.replace("books", in: &$0.author)
      }
      try stack.reopen(at: try stack.makeLocation(), model: try first.model)
      try stack.write { try $0.make("Author", ["name": "Snorri"]) }
      let coordinator = stack.makeCoordinator(model: try base.model)
      try stack.attach(stack.location, to: coordinator)
      let newer = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
      try newer.performAndWait {
        try newer.make("Book", ["title": "Edda"]).setObject(try newer.one("Author"), for: "author")
        try newer.save()
      }
      try stack.read { context in
        context.delete(try context.one("Author"))
        let error = try expectThrows(.danglingReference) { try context.save() }
        try expect(error.message.contains("attach it again"), "the message to say what to do: \(error.message)")
        context.rollback()
      }
      try stack.reopen()
      try stack.write { context in context.delete(try context.one("Author")) }
      try newer.performAndWait { try expectEqual(try newer.names("Book", where: equal("author", nil)), ["Edda"]) }
    }
    Case("the defaults of other entities in a subentity's column do not count as data loss") {
      stack in
      try stack.reopen(at: try stack.makeLocation(), model: try comics.model)
      try stack.write { try $0.make("Book", ["title": "plain"]) }
      // No comic has an issue, so it may be of another type.
      try stack.reopen(
        model: try base.changed {
          $0.others = [
            Entity("Comic", parent: "Book") { Attribute("issue", .string, optional: true) },
            Entity("Atlas", parent: "Book") { Attribute("scale", .int32, optional: true) },
          ]
        }.model)
      try stack.write { try $0.make("Comic", ["title": "new", "issue": "first"]) }
      try stack.reopen()
      try stack.read { try expectEqual(try $0.names("Comic", where: equal("issue", "first")), ["new"]) }
    }
  }
}
