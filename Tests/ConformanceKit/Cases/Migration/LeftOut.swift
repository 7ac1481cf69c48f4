import CoherenceCore

extension ConformanceSubject {
  static let leftOut = ConformanceSubject("Left out") {
    propertiesLeftOut
    propertiesOfSubentitiesLeftOut
    entitiesLeftOut
    deletesUnderReferences
    rules
    constraintsOfNewestModel
    referencesOfNewestModel
    recordsOfModels
    defaultsOfNewestModel
    severalModels
    parts
  }

  // MARK: The way there and back

  /// A store is filled with one model, opened and written to with another, and opened with the first again.
  static func thereAndBack(
    _ sentence: String, from start: Library = base, _ change: @escaping @Sendable (inout Library) -> Void,
    fill: @escaping @Sendable (ManagedObjectContext) throws -> Void = fillLibrary,
    meanwhile: @escaping @Sendable (ManagedObjectContext) throws -> Void = { _ in },
    back: @escaping @Sendable (ManagedObjectContext) throws -> Void
  ) -> Case {
    Case(sentence) { stack in
      try stack.reopen(at: try stack.makeLocation(), model: try start.model)
      try stack.write(fill)
      let (first, identifier) = (stack.model, try stack.store.identifier)
      try stack.reopen(model: try start.changed(change).model)
      try stack.write(meanwhile)
      try stack.reopen()
      try stack.reopen(model: first)
      try expectEqual(try stack.store.identifier, identifier, "the store's identifier")
      try stack.read(back)
      // Later inserts with the first model are stored as usual.
      try stack.write { try $0.make("Author", ["name": "late"]) }
      try stack.reopen()
      try stack.read { try expectEqual(try $0.number(of: "Author", where: equal("name", "late")), 1) }
    }
  }

  // MARK: Properties

  @CasesBuilder private static var propertiesLeftOut: [Case] {
    thereAndBack("values of an attribute that a model leaves out come back with the model that has it") {
      Library.replace("isbn", in: &$0.book)
    } meanwhile: { context in
      try context.make("Book", ["title": "new"])
      try context.one("Book", where: equal("title", "Edda")).setValue(7, for: "pages")
    } back: { context in
      try expectEqual(try context.names("Book", where: equal("isbn", "0")), ["Edda"])
      try expectEqual(try context.names("Book", where: equal("isbn", "1")), ["Egla"])
      try expectEqual(try context.names("Book", where: equal("isbn", nil)), ["new"])
      try expectEqual(try context.names("Book", where: equal("pages", 7)), ["Edda"])
    }
    thereAndBack("values of a required attribute that a model leaves out come back") {
      Library.replace("title", in: &$0.book, by: Attribute("name", .string, optional: true))
    } meanwhile: { context in
      try context.make("Book", ["pages": 5])
    } back: { context in
      try expectEqual(try context.number(of: "Book"), 3)
      try expectEqual(try context.number(of: "Book", where: among("title", ["Edda", "Egla"])), 2)
    }
    thereAndBack(
      "a record written by a program that does not know an attribute has its default",
      from: base.changed {
        $0.book += [
          Attribute("copies", .int32, default: 3), Attribute("shelf", .string, default: "it's"),
          Attribute("price", .decimal, default: decimal("9.99")), Attribute("isOut", .bool, default: true),
          Attribute("weight", .double, default: -2.5), Attribute("note", .string, optional: true, default: "none"),
        ]
      }
    ) {
      for name in ["copies", "shelf", "price", "isOut", "weight", "note"] { Library.replace(name, in: &$0.book) }
    } fill: { context in
      try context.make("Book", ["title": "Edda", "copies": 8, "note": String?.none])
    } meanwhile: { context in
      try context.make("Book", ["title": "new"])
    } back: { context in
      let old = try context.one("Book", where: equal("title", "Edda"))
      try expectEqual(try old.value(for: "copies"), .int(8))
      try expectEqual(try old.value(for: "note"), .null)
      let new = try context.one("Book", where: equal("title", "new"))
      try expectEqual(try new.value(for: "copies"), .int(3))
      try expectEqual(try new.value(for: "shelf"), .string("it's"))
      try expectEqual(try new.value(for: "price"), .decimal(decimal("9.99")))
      try expectEqual(try new.value(for: "isOut"), .bool(true))
      try expectEqual(try new.value(for: "weight"), .double(-2.5))
      try expectEqual(try new.value(for: "note"), .string("none"))
    }
    thereAndBack("references and positions of a relationship that a model leaves out come back", from: ordered) {
      Library.replace("author", in: &$0.book)
      Library.replace("books", in: &$0.author)
    } fill: { context in
      let author = try context.make("Author", ["name": "Snorri"])
      let books = try ["C", "A", "B"].map { try context.make("Book", ["title": $0]) }
      try author.setObjects(books, for: "books")
    } meanwhile: { context in
      try context.make("Book", ["title": "new"])
    } back: { context in
      try expectEqual(try context.one("Author").labels(of: "books"), ["C", "A", "B"])
    }
    thereAndBack("links of a relationship that a model leaves out come back without those of deleted records") {
      Library.replace("tags", in: &$0.book)
      Library.replace("books", in: &$0.tag)
    } meanwhile: { context in
      context.delete(try context.one("Book", where: equal("title", "Egla")))
    } back: { context in
      try expectEqual(try context.one("Tag").labels(of: "books"), ["Edda"])
    }
  }

  private static var ordered: Library {
    base.changed {
      Library.replace(
        "books", in: &$0.author, by: Relationship("books", toMany: "Book", inverse: "author", ordered: true))
    }
  }

  // MARK: Entities

  @CasesBuilder private static var entitiesLeftOut: [Case] {
    thereAndBack("records of an entity that a model leaves out come back with their references and links") {
      $0.tag = []
      Library.replace("tags", in: &$0.book)
    } meanwhile: { context in
      try context.make("Book", ["title": "new"])
    } back: { context in
      let tag = try context.one("Tag")
      try expectEqual(try tag.label, "saga")
      try expectEqual(try tag.labels(of: "books"), ["Edda", "Egla"])
    }
    thereAndBack("a model of one entity leaves the others where they are") {
      $0.tag = []
      $0.book = []
      Library.replace("books", in: &$0.author)
    } meanwhile: { context in
      try context.one("Author").setValue("Snorri Sturluson", for: "name")
      try context.make("Author", ["name": "Ari"])
    } back: { context in
      let author = try context.one("Author", where: equal("name", "Snorri Sturluson"))
      try expectEqual(try author.labels(of: "books"), ["Edda", "Egla"])
    }
    thereAndBack(
      "a subentity without records can be left out",
      from: base.changed {
        $0.others = [Entity("Comic", parent: "Book") { Attribute("artist", .string, optional: true) }]
      }
    ) {
      $0.others = []
    } meanwhile: { context in
      try context.make("Book", ["title": "new"])
    } back: { context in
      let comic = try context.make("Comic", ["title": "C", "artist": "x"])
      try expectEqual(try context.all("Comic"), [comic])
      try expectEqual(try context.number(of: "Book"), 4)
    }
  }

  // MARK: Deletes

  @CasesBuilder private static var deletesUnderReferences: [Case] {
    thereAndBack("a record can be deleted though a left-out entity refers to it") {
      $0.tag = []
      $0.book = []
      Library.replace("books", in: &$0.author)
    } meanwhile: { context in
      context.delete(try context.one("Author"))
    } back: { context in
      try expectEqual(try context.names("Book", where: equal("author", nil)), ["Edda", "Egla"])
    }
    thereAndBack("a record can be deleted though a left-out relationship leads to it") {
      Library.replace("author", in: &$0.book)
      Library.replace("books", in: &$0.author)
    } meanwhile: { context in
      // In one save with a change of a record that refers to it.
      try context.one("Book", where: equal("title", "Edda")).setValue(9, for: "pages")
      context.delete(try context.one("Author"))
    } back: { context in
      try expectEqual(try context.names("Book", where: equal("author", nil)), ["Edda", "Egla"])
      try expectEqual(try context.names("Book", where: equal("pages", 9)), ["Edda"])
    }
    thereAndBack("a batch can delete records that a left-out entity refers to") {
      $0.tag = []
      $0.book = []
      Library.replace("books", in: &$0.author)
    } meanwhile: { context in
      _ = try context.execute(BatchDeleteRequest(entityName: "Author"))
    } back: { context in
      try expectEqual(try context.number(of: "Author"), 0)
      try expectEqual(try context.names("Book", where: equal("author", nil)), ["Edda", "Egla"])
    }
    thereAndBack("many records can be deleted at once though a left-out entity refers to them") {
      $0.tag = []
      $0.book = []
      Library.replace("books", in: &$0.author)
    } fill: { context in
      for number in 0..<100 {
        let author = try context.make("Author", ["name": "\(number)"])
        try context.make("Book", ["title": "\(number)"]).setObject(author, for: "author")
      }
    } meanwhile: { context in
      for author in try context.all("Author", where: compare("name", .notEqual, "7")) { context.delete(author) }
    } back: { context in
      try expectEqual(try context.number(of: "Book", where: equal("author", nil)), 99)
      try expectEqual(try context.one("Author").labels(of: "books"), ["7"])
    }
    thereAndBack(
      "a record that a left-out relationship requires cannot be deleted",
      from: base.changed {
        Library.replace(
          "author", in: &$0.book, by: Relationship("author", toOne: "Author", inverse: "books", optional: false))
      }
    ) {
      $0.tag = []
      $0.book = []
      Library.replace("books", in: &$0.author)
    } meanwhile: { context in
      context.delete(try context.one("Author"))
      let error = try expectThrows(.deleteDenied) { try context.save() }
      try expect(error.message.contains("Book.author"), "the message to name the relationship")
      context.rollback()
    } back: { context in
      try expectEqual(try context.one("Author").labels(of: "books"), ["Edda", "Egla"])
    }
  }

  // MARK: Constraints

  @CasesBuilder private static var rules: [Case] {
    thereAndBack(
      "a constraint on a left-out attribute is not enforced, and is enforced again when the attribute is back",
      from: base.changed { $0.uniqueness = [["isbn"]] }
    ) {
      $0.uniqueness = []
      Library.replace("isbn", in: &$0.book)
    } meanwhile: { context in
      for title in ["new", "newer"] { try context.make("Book", ["title": title]) }
    } back: { context in
      try expectEqual(try context.number(of: "Book"), 4)
      try context.make("Book", ["title": "copy", "isbn": "0"])
      _ = try expectThrows(.uniquenessViolated) { try context.save() }
      context.rollback()
    }
    Case("a constraint of a newer model holds for an older one") { stack in
      try stack.reopen(at: try stack.makeLocation(), model: try base.model)
      try stack.write(fillLibrary)
      let older = stack.model
      let newer = try base.changed { $0.uniqueness = [["isbn"]] }.model
      try stack.reopen(model: newer)
      try stack.reopen(model: older)
      try stack.read { context in
        try context.make("Book", ["title": "copy", "isbn": "0"])
        _ = try expectThrows(.uniquenessViolated) { try context.save() }
      }
      try stack.reopen(model: newer)
      try stack.read { try expectEqual(try $0.names("Book"), ["Edda", "Egla"]) }
    }
    Case("a value missing from an older program's insert does not keep a newer program from the store") { stack in
      try stack.reopen(at: try stack.makeLocation(), model: try base.model)
      try stack.write(fillLibrary)
      let older = stack.model
      let newer = try base.changed {
        Library.replace("isbn", in: &$0.book, by: Attribute("isbn", .string))
        Library.replace("pages", in: &$0.book, by: Attribute("pages", .int32, default: 7))
      }.model
      try stack.reopen(model: newer)
      try stack.reopen(model: older)
      try stack.write { try $0.make("Book", ["title": "new"]) }
      try stack.reopen(model: newer)
      try stack.read { context in
        try expectEqual(try context.names("Book", where: equal("pages", 7)), ["new"])
        try expectEqual(try context.number(of: "Book"), 3)
      }
    }
  }

  // MARK: Several models

  @CasesBuilder private static var severalModels: [Case] {
    Case("a store records which models have opened it") { stack in
      try stack.reopen(at: try stack.makeLocation(), model: try base.model)
      let older = stack.model
      let newer = try base.changed { $0.book.append(Attribute("language", .string, optional: true)) }.model
      func hashes(_ model: ManagedObjectModel) -> [String: String] { model.versionHashes.mapValues(\.rawValue) }
      try stack.reopen(model: newer)
      var metadata = try stack.store.metadata()
      try expectEqual(metadata.models.map(\.versionHashes), [hashes(older), hashes(newer)])
      try expectEqual(metadata.age(ofModelWith: hashes(newer)), .newest)
      try expectEqual(metadata.age(ofModelWith: hashes(older)), .older)
      try expectEqual(metadata.age(ofModelWith: [:]), .unseen)
      try stack.reopen(model: older)
      metadata = try stack.store.metadata()
      try expectEqual(metadata.models.map(\.versionHashes), [hashes(older), hashes(newer)])
      try expectEqual(metadata.versionHashes, hashes(older))
      try expect(metadata.models.allSatisfy { $0.firstOpened != nil && $0.lastOpened != nil }, "dates")
    }
    Case("programs with an older and a newer model use one store at the same time") { stack in
      try stack.reopen(at: try stack.makeLocation(), model: try base.model)
      try stack.write(fillLibrary)
      let library = base.changed {
        $0.book.append(Attribute("copies", .int32, default: 3))
        $0.others.append(Entity("Reader") { Attribute("name", .string) })
      }
      let coordinator = stack.makeCoordinator(model: try library.model)
      try stack.attach(stack.location, to: coordinator)
      let newer = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
      try newer.performAndWait {
        try newer.make("Reader", ["name": "r"])
        try newer.one("Book", where: equal("title", "Edda")).setValue(8, for: "copies")
        try newer.save()
      }
      // The older program opened its store before the column was there.
      try stack.write { context in
        try context.make("Book", ["title": "new"])
        try context.one("Book", where: equal("title", "Edda")).setValue(1, for: "pages")
      }
      try newer.performAndWait {
        try expectEqual(try newer.names("Book", where: equal("copies", 3)), ["Egla", "new"])
        try expectEqual(try newer.names("Book", where: equal("copies", 8)), ["Edda"])
        try expectEqual(try newer.names("Book", where: equal("pages", 1)), ["Edda"])
        try expectEqual(try newer.number(of: "Reader"), 1)
      }
    }
    Case("a model known to the store needs no right to migrate") { stack in
      try stack.reopen(at: try stack.makeLocation(), model: try base.model)
      try stack.write(fillLibrary)
      let first = stack.model
      try stack.reopen(
        model: try base.changed { $0.book.append(Attribute("language", .string, optional: true)) }.model)
      for option in [StoreOption.readOnly: true, StoreOption.migrateAutomatically: false] as [String: OptionValue] {
        try stack.reopen(model: first, options: [option.key: option.value])
        try stack.read { try expectEqual(try $0.names("Book"), ["Edda", "Egla"]) }
      }
    }
  }
}
