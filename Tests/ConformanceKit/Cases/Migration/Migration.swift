import CoherenceCore

extension ConformanceSubject {
  static let migration = ConformanceSubject("Migration") {
    attributes
    entities
    addedRelationships
    ordersOfMembers
    rules
    derivedMigrations
    derivedRelationMigrations
    derivationsFromFilledGaps
    derivationsOfAnotherType
    mergedMigrations
  }

  // MARK: The model before

  static let base = Library()

  /// The declarations that migrations start from, to be changed one at a time.
  struct Library: Sendable {
    var book: [any PropertyDeclaration] = [
      Attribute("title", .string), Attribute("pages", .int32, optional: true),
      Attribute("isbn", .string, optional: true), Relationship("author", toOne: "Author", inverse: "books"),
      Relationship("tags", toMany: "Tag", inverse: "books"),
    ]
    var author: [any PropertyDeclaration] = [
      Attribute("name", .string), Relationship("books", toMany: "Book", inverse: "author"),
    ]
    var tag: [any PropertyDeclaration] = [
      Attribute("name", .string), Relationship("books", toMany: "Book", inverse: "tags"),
    ]
    var others: [Entity] = []
    var uniqueness: [[String]] = []
    var indexes: [[String]] = []

    func changed(_ change: (inout Library) -> Void) -> Library {
      var result = self
      change(&result)
      return result
    }

    /// Takes the property of that name out and puts another in its place.
    static func replace(
      _ name: String, in properties: inout [any PropertyDeclaration], by property: (any PropertyDeclaration)? = nil
    ) {
      properties.removeAll { $0.name == name }
      if let property { properties.append(property) }
    }

    var model: ManagedObjectModel {
      get throws {
        var entities = others
        func add(_ name: String, _ properties: [any PropertyDeclaration], isBook: Bool = false) {
          var entity = Entity(name, uniqueness: isBook ? uniqueness : [], indexes: isBook ? indexes : [])
          entity.properties = properties
          if !properties.isEmpty { entities.append(entity) }
        }
        add("Book", book, isBook: true)
        add("Author", author)
        add("Tag", tag)
        return try ManagedObjectModel(entities: entities)
      }
    }
  }

  static func fillLibrary(_ context: ManagedObjectContext) throws {
    let author = try context.make("Author", ["name": "Snorri"])
    let tag = try context.make("Tag", ["name": "saga"])
    for (index, title) in ["Edda", "Egla"].enumerated() {
      let book = try context.make("Book", ["title": title, "pages": 100 + index, "isbn": "\(index)"])
      try book.setObject(author, for: "author")
      try book.setObjects([tag], for: "tags")
    }
  }

  /// Fills a store, and opens it with a changed model, which the store refuses.
  ///
  /// - Returns: The model of the store, and the refusal.
  static func refusal(
    _ stack: ConformanceStack, of change: (inout Library) -> Void
  ) throws -> (original: ManagedObjectModel, error: CoherenceError) {
    try stack.reopen(at: try stack.makeLocation(), model: try base.model)
    try stack.write(fillLibrary)
    let original = stack.model
    let error = try expectThrows(.incompatibleModel) { try stack.reopen(model: try base.changed(change).model) }
    return (original, error)
  }

  /// A store is filled, opened with a changed model, looked at, written to, and opened once more.
  private static func migrated(
    _ sentence: String, from start: Library = base, _ change: @escaping @Sendable (inout Library) -> Void,
    fill: @escaping @Sendable (ManagedObjectContext) throws -> Void = fillLibrary,
    check: @escaping @Sendable (ManagedObjectContext) throws -> Void
  ) -> Case {
    Case(sentence) { stack in
      try stack.reopen(at: try stack.makeLocation(), model: try start.model)
      try stack.write(fill)
      let identifier = try stack.store.identifier
      try stack.reopen(model: try start.changed(change).model)
      try expectEqual(try stack.store.identifier, identifier, "the store's identifier")
      try expectEqual(
        try stack.store.metadata().versionHashes, stack.model.versionHashes.mapValues(\.rawValue), "the hashes")
      try stack.read(check)
      try stack.write { try $0.make("Book", ["title": "new"]) }
      try stack.reopen()
      try stack.write { $0.delete(try $0.one("Book", where: equal("title", "new"))) }
      try stack.read(check)
    }
  }

  @CasesBuilder private static var attributes: [Case] {
    migrated("an optional attribute is added") {
      $0.book.append(Attribute("language", .string, optional: true))
    } check: { context in
      try expectEqual(try context.names("Book", where: equal("language", nil)), ["Edda", "Egla"])
    }
    migrated("a required attribute with a default is added to existing records") {
      $0.book += [
        Attribute("copies", .int32, default: 3), Attribute("shelf", .string, default: "it's"),
        Attribute("price", .decimal, default: decimal("9.99")), Attribute("isOut", .bool, default: true),
      ]
    } check: { context in
      for book in try context.all("Book") {
        try expectEqual(try book.value(for: "copies"), .int(3))
        try expectEqual(try book.value(for: "shelf"), .string("it's"))
        try expectEqual(try book.value(for: "price"), .decimal(decimal("9.99")))
        try expectEqual(try book.value(for: "isOut"), .bool(true))
      }
      try expectEqual(try context.number(of: "Book", where: equal("copies", 3)), 2)
    }
    migrated("an attribute is left out") {
      Library.replace("isbn", in: &$0.book)
    } check: { context in
      try expectEqual(try context.names("Book"), ["Edda", "Egla"])
      let book = try context.one("Book", where: equal("title", "Edda"))
      try expectEqual(try book.value(for: "pages"), .int(100))
    }
    migrated("an attribute of another name begins without values") {
      Library.replace("pages", in: &$0.book, by: Attribute("sheets", .int32, optional: true))
    } check: { context in
      try expectEqual(try context.number(of: "Book", where: equal("sheets", nil)), 2)
    }
    migrated("a composite is added") {
      $0.book.append(CompositeAttribute("size", parts: [Attribute("width", .double, optional: true)]))
    } check: { context in
      try expectEqual(try context.number(of: "Book", where: equal("size.width", nil)), 2)
    }
    migrated("a required attribute becomes optional") {
      Library.replace("title", in: &$0.book, by: Attribute("title", .string, optional: true))
    } check: { context in
      try expectEqual(try context.names("Book"), ["Edda", "Egla"])
    }
    migrated("an optional attribute becomes required, and its default fills the gaps alone") {
      Library.replace("pages", in: &$0.book, by: Attribute("pages", .int32, default: 7))
    } fill: { context in
      try fillLibrary(context)
      try context.one("Book", where: equal("title", "Egla")).setValue(Int?.none, for: "pages")
    } check: { context in
      try expectEqual(try context.names("Book", where: equal("pages", 100)), ["Edda"])
      try expectEqual(try context.names("Book", where: equal("pages", 7)), ["Egla"])
    }
    migrated(
      "another default leaves existing records unchanged",
      from: base.changed {
        $0.book.append(Attribute("copies", .int32, default: 3))
      }
    ) {
      Library.replace("copies", in: &$0.book, by: Attribute("copies", .int32, default: 5))
    } check: { context in
      try expectEqual(try context.number(of: "Book", where: equal("copies", 3)), 2)
      try expectEqual(try context.make("Book").value(for: "copies"), .int(5))
    }
  }

  @CasesBuilder private static var entities: [Case] {
    migrated("an entity is added") {
      $0.others.append(Entity("Reader") { Attribute("name", .string) })
    } check: { context in
      try expectEqual(try context.number(of: "Reader"), 0)
      try context.make("Reader", ["name": "r"])
      try expectEqual(try context.number(of: "Book"), 2)
    }
    migrated("an entity is left out with its relationships") {
      $0.tag = []
      Library.replace("tags", in: &$0.book)
    } check: { context in
      try expectEqual(try context.names("Book", where: equal("author.name", "Snorri")), ["Edda", "Egla"])
    }
    migrated("an entity that is the target of references is left out") {
      $0.author = []
      Library.replace("author", in: &$0.book)
    } check: { context in
      try expectEqual(try context.one("Tag").labels(of: "books"), ["Edda", "Egla"])
    }
    migrated("a subentity is added") {
      $0.others.append(Entity("Comic", parent: "Book") { Attribute("artist", .string, optional: true) })
    } check: { context in
      try expectEqual(try context.names("Book"), ["Edda", "Egla"])
      let comic = try context.make("Comic", ["title": "C", "artist": "x"])
      try expectEqual(try context.all("Comic"), [comic])
    }
  }

  @CasesBuilder private static var addedRelationships: [Case] {
    migrated("a to-one relationship and its inverse are added") {
      $0.book.append(Relationship("sequel", toOne: "Book", inverse: "prequel"))
      $0.book.append(Relationship("prequel", toOne: "Book", inverse: "sequel"))
    } check: { context in
      let books = try context.all("Book", sort: [SortKey("title")])
      try books[0].setObject(books[1], for: "sequel")
      try expectEqual(try books[1].object(for: "prequel"), books[0])
    }
    migrated("an ordered to-many relationship is added") {
      $0.author.append(Relationship("favourites", toMany: "Book", inverse: "fan", ordered: true))
      $0.book.append(Relationship("fan", toOne: "Author", inverse: "favourites"))
    } check: { context in
      try expectEqual(try context.one("Author").labels(of: "favourites"), [])
      try expectEqual(try context.one("Author").labels(of: "books"), ["Edda", "Egla"])
    }
    migrated("a many-to-many relationship is added") {
      $0.author.append(Relationship("translations", toMany: "Book", inverse: "translators"))
      $0.book.append(Relationship("translators", toMany: "Author", inverse: "translations"))
    } check: { context in
      try expectEqual(try context.number(of: "Book", where: memberCount("translators", .equal, 0)), 2)
    }
    migrated("a relationship is left out") {
      Library.replace("author", in: &$0.book)
      Library.replace("books", in: &$0.author)
    } check: { context in
      try expectEqual(try context.one("Author").label, "Snorri")
      try expectEqual(try context.one("Tag").labels(of: "books"), ["Edda", "Egla"])
    }
    migrated("a many-to-many relationship is left out") {
      Library.replace("tags", in: &$0.book)
      Library.replace("books", in: &$0.tag)
    } check: { context in
      try expectEqual(try context.one("Author").labels(of: "books"), ["Edda", "Egla"])
    }
  }

  @CasesBuilder private static var rules: [Case] {
    migrated("an index is added") {
      $0.indexes = [["pages"], ["author", "title"]]
    } check: { context in
      try expectEqual(try context.names("Book", where: equal("pages", 101)), ["Egla"])
    }
    migrated("an index is dropped", from: base.changed { $0.indexes = [["pages"]] }) {
      $0.indexes = []
    } check: { context in
      try expectEqual(try context.names("Book", where: equal("pages", 101)), ["Egla"])
    }
    Case("a constraint is added and holds from then on") { stack in
      try stack.reopen(at: try stack.makeLocation(), model: try base.model)
      try stack.write(fillLibrary)
      try stack.reopen(model: try base.changed { $0.uniqueness = [["isbn"]] }.model)
      try stack.read { context in
        try context.make("Book", ["title": "copy", "isbn": "0"])
        _ = try expectThrows(.uniquenessViolated) { try context.save() }
      }
    }
    Case("a constraint is dropped and does not hold any more") { stack in
      try stack.reopen(at: try stack.makeLocation(), model: try base.changed { $0.uniqueness = [["isbn"]] }.model)
      try stack.write(fillLibrary)
      try stack.reopen(model: try base.model)
      try stack.write { try $0.make("Book", ["title": "copy", "isbn": "0"]) }
      try stack.read { try expectEqual(try $0.number(of: "Book", where: equal("isbn", "0")), 2) }
    }
    Case("the references of an entity with the name of an alias are checked from then on") { stack in
      func model(_ rule: DeleteRule) throws -> ManagedObjectModel {
        try ManagedObjectModel {
          Entity("t") {
            Attribute("name", .string)
            Relationship("parent", toOne: "Parent", inverse: "children")
          }
          Entity("Parent") {
            Attribute("name", .string)
            Relationship("children", toMany: "t", inverse: "parent", deleteRule: rule)
          }
        }
      }
      try stack.reopen(at: try stack.makeLocation(), model: try model(.noAction))
      try stack.write { context in
        try context.make("t", ["name": "a"]).setObject(try context.make("Parent", ["name": "p"]), for: "parent")
      }
      try stack.reopen(model: try model(.nullify))
      try stack.read { try expectEqual(try $0.one("t").object(for: "parent")?.label, "p") }
    }
    Case("a store migrates through several models in turn") { stack in
      try stack.reopen(at: try stack.makeLocation(), model: try base.model)
      try stack.write(fillLibrary)
      var library = base
      for step in 0..<5 {
        library.book.append(Attribute("added\(step)", .int32, default: step))
        try stack.reopen(model: try library.model)
      }
      try stack.read { context in
        for step in 0..<5 { try expectEqual(try context.number(of: "Book", where: equal("added\(step)", step)), 2) }
      }
    }
  }
}
