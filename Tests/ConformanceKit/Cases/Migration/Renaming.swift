import CoherenceCore

extension ConformanceSubject {
  static let renaming = ConformanceSubject("Renaming") {
    renames
    turnedLinks
    renamedEntities
    identifiersOfRenamedEntities
    undeclaredRenames
  }

  /// A store is filled, opened with a model of other names, changed, and opened with the first model again.
  private static func renamed(
    _ sentence: String, from start: Library = base, _ change: @escaping @Sendable (inout Library) -> Void,
    check: @escaping @Sendable (ManagedObjectContext) throws -> Void,
    back: @escaping @Sendable (ManagedObjectContext) throws -> Void
  ) -> Case {
    Case(sentence) { stack in
      try stack.reopen(at: try stack.makeLocation(), model: try start.model)
      try stack.write(fillLibrary)
      let first = stack.model
      let second = try start.changed(change).model
      try stack.reopen(model: second)
      try stack.write(check)
      try stack.reopen(model: first)
      try stack.read(back)
      try stack.reopen(model: second)
      try stack.reopen()
      try stack.read { try expectEqual(try $0.number(of: "Book"), 2) }
    }
  }

  @CasesBuilder private static var renames: [Case] {
    renamed("a renamed attribute keeps its values, and the older model finds later changes") {
      Library.replace(
        "pages", in: &$0.book, by: Attribute("extent", .int32, optional: true, renamingIdentifier: "pages"))
    } check: { context in
      try expectEqual(try context.names("Book", where: equal("extent", 101)), ["Egla"])
      try context.one("Book", where: equal("title", "Egla")).setValue(55, for: "extent")
    } back: { context in
      try expectEqual(try context.names("Book", where: equal("pages", 55)), ["Egla"])
      try expectEqual(try context.names("Book", where: equal("pages", 100)), ["Edda"])
    }
    renamed("a required attribute under another name needs no default") {
      Library.replace("title", in: &$0.book, by: Attribute("heading", .string, renamingIdentifier: "title"))
    } check: { context in
      try expectEqual(try context.number(of: "Book", where: among("heading", ["Edda", "Egla"])), 2)
    } back: { context in
      try expectEqual(try context.names("Book"), ["Edda", "Egla"])
    }
    renamed("an attribute that becomes a composite part keeps its values, and the older model finds later changes") {
      let pages = Attribute("pages", .int32, optional: true, formerNames: ["pages"])
      Library.replace("pages", in: &$0.book, by: CompositeAttribute("size", parts: [pages]))
    } check: { context in
      try expectEqual(try context.names("Book", where: equal("size.pages", 101)), ["Egla"])
      try context.one("Book", where: equal("title", "Egla")).setValue(55, for: "size.pages")
    } back: { context in
      try expectEqual(try context.names("Book", where: equal("pages", 55)), ["Egla"])
      try expectEqual(try context.names("Book", where: equal("pages", 100)), ["Edda"])
    }
    renamed("a to-one relationship under another name keeps its references") {
      Library.replace(
        "author", in: &$0.book,
        by: Relationship("writer", toOne: "Author", inverse: "books", renamingIdentifier: "author"))
      Library.replace("books", in: &$0.author, by: Relationship("books", toMany: "Book", inverse: "writer"))
    } check: { context in
      try expectEqual(try context.one("Author").labels(of: "books"), ["Edda", "Egla"])
      try context.one("Book", where: equal("title", "Edda")).setObject(nil, for: "writer")
    } back: { context in
      try expectEqual(try context.one("Author").labels(of: "books"), ["Egla"])
    }
    renamed("a many-to-many relationship under another name keeps its links") {
      Library.replace(
        "tags", in: &$0.book, by: Relationship("labels", toMany: "Tag", inverse: "books", renamingIdentifier: "tags"))
      Library.replace("books", in: &$0.tag, by: Relationship("books", toMany: "Book", inverse: "labels"))
    } check: { context in
      try expectEqual(try context.one("Tag").labels(of: "books"), ["Edda", "Egla"])
    } back: { context in
      try expectEqual(try context.one("Tag").labels(of: "books"), ["Edda", "Egla"])
    }
    Case("a property keeps its values where the store never met the names in between") { stack in
      try stack.reopen(at: try stack.makeLocation(), model: try base.model)
      try stack.write(fillLibrary)
      let first = stack.model
      func named(_ name: String, after formerNames: String...) throws -> ManagedObjectModel {
        try base.changed {
          Library.replace(
            "pages", in: &$0.book, by: Attribute(name, .int32, optional: true, formerNames: formerNames))
        }.model
      }
      // The model with "extent" opens the store after the later model.
      try stack.reopen(model: try named("length", after: "extent", "pages"))
      try stack.read { try expectEqual(try $0.names("Book", where: equal("length", 101)), ["Egla"]) }
      try stack.reopen(model: try named("extent", after: "pages"))
      try stack.write { context in
        try expectEqual(try context.names("Book", where: equal("extent", 101)), ["Egla"])
        try context.one("Book", where: equal("title", "Egla")).setValue(Int32(55), for: "extent")
      }
      try stack.reopen(model: try named("size", after: "length", "extent", "pages"))
      try stack.read { try expectEqual(try $0.names("Book", where: equal("size", 55)), ["Egla"]) }
      try stack.reopen(model: first)
      try stack.read { try expectEqual(try $0.names("Book", where: equal("pages", 55)), ["Egla"]) }
    }
    Case("a property can be renamed again and again by its first name") { stack in
      try stack.reopen(at: try stack.makeLocation(), model: try base.model)
      try stack.write(fillLibrary)
      for name in ["extent", "length", "size"] {
        try stack.reopen(
          model: try base.changed {
            Library.replace(
              "pages", in: &$0.book, by: Attribute(name, .int32, optional: true, renamingIdentifier: "pages"))
          }.model)
        try stack.read { try expectEqual(try $0.names("Book", where: equal(name, 101)), ["Egla"]) }
      }
    }
  }

  // MARK: Undeclared renames

  private static func extent(_ formerNames: String...) throws -> ManagedObjectModel {
    try base.changed {
      Library.replace("pages", in: &$0.book, by: Attribute("extent", .int32, optional: true, formerNames: formerNames))
    }.model
  }

  @CasesBuilder private static var undeclaredRenames: [Case] {
    Case("an undeclared rename is refused with the number of values if the store is opened to refuse it") {
      stack in
      try stack.reopen(at: try stack.makeLocation(), model: try base.model)
      try stack.write(fillLibrary)
      let first = stack.model
      let options: [String: OptionValue] = [StoreOption.refusesSuspectedRenames: true]
      let error = try expectThrows(.incompatibleModel) { try stack.reopen(model: try extent(), options: options) }
      for word in ["Book.extent", "Book.pages", "2 values", "formerNames"] {
        try expect(error.message.contains(word), "the message to name '\(word)': \(error.message)")
      }
      try stack.reopen(model: first)
      // Neither a declared rename nor a new attribute of another type is suspected.
      try stack.reopen(model: try extent("pages"), options: options)
      try stack.read { try expectEqual(try $0.names("Book", where: equal("extent", 101)), ["Egla"]) }
      try stack.reopen(
        model: try base.changed {
          Library.replace("pages", in: &$0.book, by: Attribute("rating", .double, optional: true))
        }.model, options: options)
      try stack.read { try expectEqual(try $0.number(of: "Book"), 2) }
    }
    Case("a rename declared late takes the values over if the attribute has none of its own") { stack in
      try stack.reopen(at: try stack.makeLocation(), model: try base.model)
      try stack.write(fillLibrary)
      let first = stack.model
      try stack.reopen(model: try extent())
      try stack.read { try expectEqual(try $0.number(of: "Book", where: equal("extent", nil)), 2) }
      let declared = try extent("pages")
      for _ in 0..<2 {
        try stack.reopen(model: declared)
        try stack.read { try expectEqual(try $0.names("Book", where: equal("extent", 101)), ["Egla"]) }
      }
      try stack.write { try $0.one("Book", where: equal("title", "Egla")).setValue(55, for: "extent") }
      try stack.reopen(model: first)
      try stack.read { try expectEqual(try $0.names("Book", where: equal("pages", 55)), ["Egla"]) }
    }
    Case("a rename declared after the attribute got values leaves all values unchanged") { stack in
      try stack.reopen(at: try stack.makeLocation(), model: try base.model)
      try stack.write(fillLibrary)
      let first = stack.model
      try stack.reopen(model: try extent())
      try stack.write { try $0.one("Book", where: equal("title", "Edda")).setValue(7, for: "extent") }
      try stack.reopen(model: try extent("pages"))
      try stack.read { context in
        try expectEqual(try context.names("Book", where: equal("extent", 7)), ["Edda"])
        try expectEqual(try context.names("Book", where: equal("extent", nil)), ["Egla"])
      }
      try stack.reopen(model: first)
      try stack.read { try expectEqual(try $0.names("Book", where: equal("pages", 101)), ["Egla"]) }
    }
  }
}
