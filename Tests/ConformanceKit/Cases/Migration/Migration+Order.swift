import CoherenceCore

extension ConformanceSubject {
  /// The members of the one author's list, in its order if it has one.
  private static func expectBooks(_ titles: [String], in stack: ConformanceStack) throws {
    try stack.read { try expectEqual(try $0.one("Author").labels(of: "books"), titles) }
  }

  /// Gives the one author's list the books with the titles, in their order. Missing books are made.
  private static func setBooks(_ titles: [String], in stack: ConformanceStack) throws {
    try stack.write { context in
      let books = try titles.map { title -> ManagedObject in
        if let book = try context.all("Book", where: equal("title", title)).first { return book }
        return try context.make("Book", ["title": title])
      }
      try context.one("Author").setObjects(books, for: "books")
    }
  }

  @CasesBuilder static var ordersOfMembers: [Case] {
    Case("a relationship that becomes ordered has its members in the order of their keys, and keeps later orders") {
      stack in
      try stack.reopen(at: try stack.makeLocation(), model: try base.model)
      try stack.write(fillLibrary)
      let unordered = stack.model
      let ordered = try base.changed {
        Library.replace(
          "books", in: &$0.author, by: Relationship("books", toMany: "Book", inverse: "author", ordered: true))
      }.model
      try stack.reopen(model: ordered)
      try expectBooks(["Edda", "Egla"], in: stack)
      try setBooks(["Egla", "Njala", "Edda"], in: stack)
      try stack.reopen()
      try expectBooks(["Egla", "Njala", "Edda"], in: stack)
      // A program with the model from before adds a member, at the position of the first one. Members at one position
      // are in the order of their keys.
      try stack.reopen(model: unordered)
      try expectBooks(["Edda", "Egla", "Njala"], in: stack)
      try stack.write { context in
        try context.make("Book", ["title": "Oddr"]).setObject(try context.one("Author"), for: "author")
      }
      try stack.reopen(model: ordered)
      try expectBooks(["Egla", "Oddr", "Njala", "Edda"], in: stack)
      try setBooks(["Edda", "Oddr", "Egla", "Njala"], in: stack)
      try stack.reopen()
      try expectBooks(["Edda", "Oddr", "Egla", "Njala"], in: stack)
    }
  }
}
