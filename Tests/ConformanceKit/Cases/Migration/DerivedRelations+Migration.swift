import CoherenceCore

// Values derived from other records, in stores that migrate.

extension ConformanceSubject {
  /// A library whose books have the number of their tags and the name of their author, and whose authors have numbers of
  /// their books.
  private static func deriving(_ pages: Derivation = .sum("books.pages")) -> Library {
    base.changed {
      $0.book.append(Attribute("authorName", .string, derived: .path("author.name")))
      $0.book.append(Attribute("tagCount", .int64, derived: .count("tags")))
      $0.author.append(Attribute("bookCount", .int64, derived: .count("books")))
      $0.author.append(Attribute("pages", .int64, optional: true, derived: pages))
    }
  }

  /// An author with two books, one of which has two tags.
  private static func fillShelf(_ context: ManagedObjectContext) throws {
    let author = try context.make("Author", ["name": "Snorri"])
    let books = try ["Edda", "Egla"].map { try context.make("Book", ["title": $0, "pages": 100]) }
    for book in books { try book.setObject(author, for: "author") }
    try books[0].setObjects(["old", "verse"].map { try context.make("Tag", ["name": $0]) }, for: "tags")
  }

  private static func expectShelf(_ stack: ConformanceStack, books: Int, pages: Int, name: String = "Snorri") throws {
    try stack.read { context in
      let author = try context.one("Author")
      try expectValue(author, "bookCount", books)
      try expectValue(author, "pages", pages)
      try expectEqual(try context.number(of: "Book", where: equal("authorName", name)), books)
      try expectEqual(try context.names("Book", where: equal("tagCount", 2)), ["Edda"])
    }
  }

  @CasesBuilder static var derivedRelationMigrations: [Case] {
    Case("attributes derived from other records that are added get their values in existing records") { stack in
      try stack.reopen(at: try stack.makeLocation(), model: try base.model)
      try stack.write(fillShelf)
      try stack.write { _ = try $0.make("Author", ["name": "Nobody"]) }
      try stack.reopen(model: try deriving().model)
      try stack.read { context in
        let nobody = try context.one("Author", where: equal("name", "Nobody"))
        try expectValue(nobody, "bookCount", 0)
        try expectValue(nobody, "pages", 0)
        try expectEqual(nobody.version, 1)
      }
      try stack.write { $0.delete(try $0.one("Author", where: equal("name", "Nobody"))) }
      try expectShelf(stack, books: 2, pages: 200)
      try stack.write { $0.delete(try $0.one("Book", where: equal("title", "Egla"))) }
      try expectShelf(stack, books: 1, pages: 100)
    }
    Case("another rule over other records replaces the values of existing records") { stack in
      try stack.reopen(at: try stack.makeLocation(), model: try deriving().model)
      try stack.write(fillShelf)
      try expectShelf(stack, books: 2, pages: 200)
      try stack.reopen(model: try deriving(.count("books")).model)
      try expectShelf(stack, books: 2, pages: 2)
    }
    Case("records that a program without values derived from other records wrote are counted") { stack in
      try stack.reopen(at: try stack.makeLocation(), model: try deriving().model)
      try stack.write(fillShelf)
      try stack.reopen(model: try base.model)
      try stack.write { context in
        let book = try context.make("Book", ["title": "Heimskringla", "pages": 50])
        try book.setObject(try context.one("Author"), for: "author")
        try context.one("Author").setValue("Sturluson", for: "name")
      }
      try stack.reopen(model: try deriving().model)
      try expectShelf(stack, books: 3, pages: 250, name: "Sturluson")
    }
    Case("records that a migration deletes, as the user allows, are not counted any more") { stack in
      let withComics = deriving().changed { $0.others = [Entity("Comic", parent: "Book")] }
      try stack.reopen(at: try stack.makeLocation(), model: try withComics.model)
      try stack.write(fillShelf)
      try stack.write { context in
        let comic = try context.make("Comic", ["title": "Saga", "pages": 50])
        try comic.setObject(try context.one("Author"), for: "author")
      }
      try expectShelf(stack, books: 3, pages: 250)
      try stack.reopen(model: try deriving().model, options: [StoreOption.allowsDataLoss: true])
      try expectShelf(stack, books: 2, pages: 200)
    }
    Case("a change of the members' attributes keeps values derived from them") { stack in
      try stack.reopen(at: try stack.makeLocation(), model: try deriving().model)
      try stack.write(fillShelf)
      let wider = deriving().changed {
        Library.replace("pages", in: &$0.book, by: Attribute("pages", .int64, optional: true))
      }
      try stack.reopen(model: try wider.model)
      try expectShelf(stack, books: 2, pages: 200)
      try stack.write { try $0.one("Book", where: equal("title", "Edda")).setValue(1, for: "pages") }
      try expectShelf(stack, books: 2, pages: 101)
    }
  }

  @CasesBuilder static var derivationsOfAnotherType: [Case] {
    Case("another rule with values of another type replaces the values of existing records") { stack in
      func library(_ type: AttributeType, _ rule: Derivation) -> Library {
        base.changed { $0.author.append(Attribute("least", type, optional: true, derived: rule)) }
      }
      try stack.reopen(at: try stack.makeLocation(), model: try library(.int32, .minimum("books.pages")).model)
      try stack.write(fillShelf)
      try stack.reopen(model: try library(.string, .minimum("books.title")).model)
      try stack.read { try expectValue(try $0.one("Author"), "least", "Edda") }
      try stack.write { try $0.one("Book", where: equal("title", "Edda")).setValue("Ynglinga", for: "title") }
      try stack.read { try expectValue(try $0.one("Author"), "least", "Egla") }
      try stack.reopen(model: try library(.double, .average("books.pages")).model)
      try stack.read { try expectValue(try $0.one("Author"), "least", 100.0) }
    }
    Case("a conversion of the members' attribute replaces the values derived from it") { stack in
      func library(_ pages: Attribute) -> Library {
        base.changed {
          Library.replace("pages", in: &$0.book, by: pages)
          $0.author.append(Attribute("most", pages.type, optional: true, derived: .maximum("books.pages")))
        }
      }
      try stack.reopen(
        at: try stack.makeLocation(), model: try library(Attribute("pages", .int32, optional: true)).model)
      try stack.write(fillShelf)
      let text = Attribute("pages", .string, optional: true, converting: { _ in .string("a hundred") })
      try stack.reopen(model: try library(text).model)
      try stack.read { try expectValue(try $0.one("Author"), "most", "a hundred") }
    }
  }

  @CasesBuilder static var derivationsFromFilledGaps: [Case] {
    Case("values are derived from the defaults that records of a program without the attribute get") { stack in
      func library(_ shelf: Attribute, deriving: Bool) -> Library {
        base.changed {
          $0.book.append(shelf)
          guard deriving else { return }
          $0.book.append(Attribute("shelfMark", .string, optional: true, derived: .uppercase("shelf")))
          $0.author.append(Attribute("firstShelf", .string, optional: true, derived: .minimum("books.shelf")))
        }
      }
      try stack.reopen(at: try stack.makeLocation(), model: try base.model)
      let older = stack.model
      // No book is stored yet, so that a required attribute without a default can be added.
      try stack.reopen(model: try library(Attribute("shelf", .string), deriving: false).model)
      let newer = try library(Attribute("shelf", .string, default: "none"), deriving: true).model
      try stack.reopen(model: newer)
      try stack.reopen(model: older)
      try stack.write(fillShelf)
      try stack.reopen(model: newer)
      try stack.read { context in
        try expectEqual(try context.names("Book", where: equal("shelf", "none")), ["Edda", "Egla"])
        try expectEqual(try context.names("Book", where: equal("shelfMark", "NONE")), ["Edda", "Egla"])
        try expectValue(try context.one("Author"), "firstShelf", "none")
      }
    }
  }
}
