import CoherenceCore

extension ConformanceSubject {
  /// A library with names of choice for its entities.
  private static func catalogue(
    _ book: String = "Book", _ comic: String = "Comic", _ tag: String = "Tag",
    issue: AttributeType = .int32
  ) throws -> ManagedObjectModel {
    func former(_ name: String, _ first: String) -> String? { name == first ? nil : first }
    return try ManagedObjectModel {
      Entity(book, renamingIdentifier: former(book, "Book")) {
        Attribute("title", .string)
        Relationship("author", toOne: "Author", inverse: "books")
        Relationship("tags", toMany: tag, inverse: "books")
      }
      Entity(comic, parent: book, uniqueness: [["issue"]], renamingIdentifier: former(comic, "Comic")) {
        Attribute("issue", issue, optional: true)
      }
      Entity(tag, renamingIdentifier: former(tag, "Tag")) {
        Attribute("name", .string)
        Relationship("books", toMany: book, inverse: "tags")
      }
      Entity("Author") {
        Attribute("name", .string)
        Relationship("books", toMany: book, inverse: "author")
      }
    }
  }

  private static func fillCatalogue(_ context: ManagedObjectContext) throws {
    let (author, tag) = (try context.make("Author", ["name": "Snorri"]), try context.make("Tag", ["name": "saga"]))
    for title in ["Edda", "Egla"] {
      let book = try context.make("Book", ["title": title])
      try book.setObject(author, for: "author")
      try book.setObjects([tag], for: "tags")
    }
    try context.make("Comic", ["title": "Thor", "issue": 1]).setObject(author, for: "author")
  }

  @CasesBuilder static var renamedEntities: [Case] {
    Case("renamed entities keep their records, and the older model finds later changes") { stack in
      try stack.reopen(at: try stack.makeLocation(), model: try catalogue())
      try stack.write(fillCatalogue)
      let (first, identifier) = (stack.model, try stack.store.identifier)
      let second = try catalogue("Volume", "Strip", "Badge")
      try stack.reopen(model: second)
      try expectEqual(try stack.store.identifier, identifier, "the store's identifier")
      try stack.write { context in
        try expectEqual(try context.names("Volume"), ["Edda", "Egla", "Thor"])
        try expectEqual(try context.names("Strip"), ["Thor"])
        try expectEqual(try context.one("Author").labels(of: "books"), ["Edda", "Egla", "Thor"])
        try expectEqual(try context.one("Badge").labels(of: "books"), ["Edda", "Egla"])
        try expectEqual(try context.names("Volume", where: memberCount("tags", .equal, 1)), ["Edda", "Egla"])
        context.delete(try context.one("Volume", where: equal("title", "Egla")))
        let strip = try context.make("Strip", ["title": "Loki", "issue": 2])
        try strip.setObjects([try context.one("Badge")], for: "tags")
      }
      try stack.reopen()
      try stack.read { context in
        try context.make("Strip", ["title": "again", "issue": 2])
        _ = try expectThrows(.uniquenessViolated) { try context.save() }
        context.rollback()
      }
      try stack.reopen(model: first)
      try stack.write { context in
        try expectEqual(try context.names("Book"), ["Edda", "Loki", "Thor"])
        try expectEqual(try context.names("Comic", where: equal("issue", 2)), ["Loki"])
        try expectEqual(try context.one("Tag").labels(of: "books"), ["Edda", "Loki"])
        try context.make("Comic", ["title": "Odin", "issue": 3])
      }
      try stack.reopen(model: second)
      try stack.read { try expectEqual(try $0.names("Strip"), ["Loki", "Odin", "Thor"]) }
    }
    Case("a renamed entity continues its keys") { stack in
      try stack.reopen(at: try stack.makeLocation(), model: try catalogue())
      let keys = try stack.write { context in
        let books = try ["A", "B"].map { try context.make("Book", ["title": $0]) }
        try context.save()
        let keys = books.map(\.objectID.key)
        context.delete(books[1])
        return keys
      }
      try stack.reopen(model: try catalogue("Volume"))
      let key = try stack.write { context in
        let book = try context.make("Volume", ["title": "C"])
        try context.save()
        return book.objectID.key
      }
      try expect(!keys.contains(key), "a key that no record had before")
    }
    Case("an entity can be renamed again and again by its first name") { stack in
      try stack.reopen(at: try stack.makeLocation(), model: try catalogue())
      try stack.write(fillCatalogue)
      for name in ["Volume", "Work", "Book", "Item"] {
        try stack.reopen(model: try catalogue(name, name == "Work" ? "Strip" : "Comic"))
        try stack.read { context in
          try expectEqual(try context.names(name), ["Edda", "Egla", "Thor"])
          try expectEqual(try context.one("Tag").labels(of: "books"), ["Edda", "Egla"])
        }
      }
    }
    Case("the possible loss of a renamed entity is counted") { stack in
      try stack.reopen(at: try stack.makeLocation(), model: try catalogue())
      try stack.write(fillCatalogue)
      let original = stack.model
      let error = try expectThrows(.incompatibleModel) {
        try stack.reopen(model: try catalogue("Volume", "Strip", "Badge", issue: .string))
      }
      try expectEqual(error.dataLosses.map(\.count), [1])
      try stack.reopen(model: original)
      try stack.read { try expectEqual(try $0.names("Comic", where: equal("issue", 1)), ["Thor"]) }
    }
    Case("programs with either name of an entity use a store at the same time, and attach it again") { stack in
      try stack.reopen(at: try stack.makeLocation(), model: try catalogue())
      try stack.write(fillCatalogue)
      let first = stack.model
      let second = try catalogue("Volume", "Strip", "Badge")
      let coordinator = stack.makeCoordinator(model: second)
      try stack.attach(stack.location, to: coordinator)
      let newer = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
      newer.mergePolicy = .error
      try newer.performAndWait {
        try newer.make("Strip", ["title": "Loki", "issue": 2])
        try newer.save()
      }
      // The older program opened its store before the rename.
      try stack.write { context in
        try expectEqual(try context.names("Comic"), ["Loki", "Thor"])
        try expectEqual(try context.names("Book"), ["Edda", "Egla", "Loki", "Thor"])
        try context.make("Comic", ["title": "Odin", "issue": 3])
        context.delete(try context.one("Comic", where: equal("issue", 1)))
      }
      try newer.performAndWait {
        try expectEqual(try newer.names("Strip"), ["Loki", "Odin"])
        try newer.make("Strip", ["title": "again", "issue": 3])
        _ = try expectThrows(.uniquenessViolated) { try newer.save() }
        newer.rollback()
      }
      for (model, name) in [(second, "Strip"), (first, "Comic"), (second, "Strip")] {
        try stack.reopen(model: model)
        try stack.read { try expectEqual(try $0.names(name), ["Loki", "Odin"]) }
      }
    }
    Case("a new entity with the former name of a renamed entity has records of its own") { stack in
      func shapes(_ others: Entity...) throws -> ManagedObjectModel {
        try ManagedObjectModel(entities: [Entity("Shape") { Attribute("name", .string) }] + others)
      }
      try stack.reopen(at: try stack.makeLocation(), model: try shapes(Entity("Disc", parent: "Shape")))
      try stack.write { try $0.make("Disc", ["name": "old"]) }
      try stack.reopen(model: try shapes(Entity("Circle", parent: "Shape", formerNames: ["Disc"])))
      try stack.read { try expectEqual(try $0.names("Circle"), ["old"]) }
      try stack.reopen(model: try shapes(Entity("Circle", parent: "Shape"), Entity("Disc", parent: "Shape")))
      try stack.write { context in
        try expectEqual(try context.number(of: "Disc"), 0)
        try context.make("Disc", ["name": "new"])
      }
      try stack.reopen()
      try stack.read { context in
        try expectEqual(try context.names("Circle"), ["old"])
        try expectEqual(try context.names("Disc"), ["new"])
        try expectEqual(try context.names("Shape"), ["new", "old"])
      }
    }
    Case("an entity without a renaming identifier is new, and the former entity's records return with its name") {
      stack in
      let former = try ManagedObjectModel {
        Entity("Author") { Attribute("name", .string) }
        Entity("Note") { Attribute("name", .string) }
      }
      try stack.reopen(at: try stack.makeLocation(), model: former)
      try stack.write { try $0.make("Note", ["name": "kept"]) }
      try stack.reopen(
        model: try ManagedObjectModel {
          Entity("Author") { Attribute("name", .string) }
          Entity("Remark") { Attribute("name", .string) }
        })
      try stack.read { try expectEqual(try $0.number(of: "Remark"), 0) }
      try stack.reopen(model: former)
      try stack.read { try expectEqual(try $0.names("Note"), ["kept"]) }
    }
  }
}
