import CoherenceCore

extension ConformanceSubject {
  static let dataLoss = ConformanceSubject("Data loss") {
    losses
    laterPrograms
    harmlessChanges
  }

  /// A store does not open with the changed model, and the error names the loss. With the option the store opens, and
  /// the data is dropped.
  private static func lost(
    _ sentence: String, _ words: [String], count: Int, from start: Library = base,
    _ change: @escaping @Sendable (inout Library) -> Void,
    fill: @escaping @Sendable (ManagedObjectContext) throws -> Void = fillLibrary,
    check: @escaping @Sendable (ManagedObjectContext) throws -> Void
  ) -> Case {
    Case(sentence) { stack in
      try stack.reopen(at: try stack.makeLocation(), model: try start.model)
      try stack.write(fill)
      let original = stack.model
      let changed = try start.changed(change).model
      let error = try expectThrows(.incompatibleModel) { try stack.reopen(model: changed) }
      try expectAdvice(error.message, losing: words)
      try expectEqual(error.dataLosses.map(\.count).reduce(0, +), count, "what would be lost")
      try expect(error.dataLosses.allSatisfy { !$0.table.isEmpty }, "the tables' names")
      try stack.reopen(model: original)
      try stack.read { try expectEqual(try $0.names("Author"), ["Snorri"]) }
      try stack.reopen(model: changed, options: [StoreOption.allowsDataLoss: true])
      try stack.write(check)
      try stack.reopen()
    }
  }

  /// Expects a message that advises to update the program before it names the option and the losses that the option
  /// causes.
  private static func expectAdvice(_ message: String, losing words: [String]) throws {
    let parts = message.split(separator: StoreOption.allowsDataLoss, maxSplits: 1).map { String($0) }
    try expectEqual(parts.count, 2, "the message to name the option: \(message)")
    let advice = "update the program"
    try expect(parts[0].contains(advice), "the advice before the option: \(message)")
    for word in words { try expect(parts[1].contains(word), "the option's loss of '\(word)': \(message)") }
  }

  @CasesBuilder private static var losses: [Case] {
    lost("another type of an attribute costs its values, and says so", ["Book.pages", "2 values"], count: 2) {
      Library.replace("pages", in: &$0.book, by: Attribute("pages", .string, optional: true))
    } check: { context in
      try expectEqual(try context.number(of: "Book", where: equal("pages", String?.none)), 2)
      try context.make("Book", ["title": "new", "pages": "many"])
      try expectEqual(try context.names("Book", where: equal("isbn", "1")), ["Egla"])
    }
    lost(
      "records of a left-out subentity are named and counted", ["Comic", "2 records"], count: 2,
      from: base.changed {
        $0.others = [Entity("Comic", parent: "Book") { Attribute("artist", .string, optional: true) }]
      }
    ) {
      $0.others = []
    } fill: { context in
      try fillLibrary(context)
      let author = try context.one("Author")
      for title in ["C", "D"] { try context.make("Comic", ["title": title]).setObject(author, for: "author") }
    } check: { context in
      try expectEqual(try context.one("Author").labels(of: "books"), ["Edda", "Egla"])
      try expectEqual(try context.number(of: "Book"), 2)
    }
    lost(
      "a to-one relationship that becomes to-many costs its references, and says so", ["Book.author", "2 values"],
      count: 2
    ) {
      Library.replace("author", in: &$0.book, by: Relationship("author", toMany: "Author", inverse: "books"))
    } check: { context in
      let author = try context.one("Author")
      try expectEqual(try author.labels(of: "books"), [])
      try author.setObjects(try context.all("Book"), for: "books")
      try expectEqual(try context.one("Tag").labels(of: "books"), ["Edda", "Egla"])
    }
    lost(
      "an attribute that moves to another entity under another name costs its values, and says so",
      ["Comic.artist", "1 value"], count: 1,
      from: base.changed {
        $0.others = [Entity("Comic", parent: "Book") { Attribute("artist", .string, optional: true) }]
      }
    ) {
      $0.others = [Entity("Comic", parent: "Book")]
      $0.book.append(Attribute("drawer", .string, optional: true, formerNames: ["artist"]))
    } fill: { context in
      try fillLibrary(context)
      try context.make("Comic", ["title": "C", "artist": "x"])
    } check: { context in
      try expectEqual(try context.number(of: "Book", where: equal("drawer", String?.none)), 3)
    }
    lost(
      "a to-many relationship without an inverse that moves to another entity costs its links, and says so",
      ["Comic.themes", "1 link"], count: 1,
      from: base.changed {
        $0.others = [Entity("Comic", parent: "Book") { Relationship("themes", toMany: "Tag", inverse: nil) }]
      }
    ) {
      $0.others = [Entity("Comic", parent: "Book")]
      $0.book.append(Relationship("themes", toMany: "Tag", inverse: nil))
    } fill: { context in
      try fillLibrary(context)
      try context.make("Comic", ["title": "C"]).setObjects([try context.one("Tag")], for: "themes")
    } check: { context in
      let comic = try context.one("Comic")
      try expectEqual(try comic.labels(of: "themes"), [])
      try comic.setObjects([try context.one("Tag")], for: "themes")
    }
    Case("the error names all losses") { stack in
      let (original, error) = try refusal(stack) {
        Library.replace("pages", in: &$0.book, by: Attribute("pages", .string, optional: true))
        Library.replace("isbn", in: &$0.book, by: Attribute("isbn", .int64, optional: true))
      }
      try expectEqual(Set(error.dataLosses.compactMap(\.column)), ["pages", "isbn"])
      try expectEqual(error.dataLosses.map(\.count), [2, 2])
      try stack.reopen(
        model: try base.changed { $0.book.append(Attribute("language", .string, optional: true)) }.model)
      try stack.reopen(model: original)
      try stack.read { try expectEqual(try $0.names("Book", where: equal("pages", 101)), ["Egla"]) }
    }
    Case("allowing data loss does not drop left-out attributes and entities") { stack in
      try stack.reopen(at: try stack.makeLocation(), model: try base.model)
      try stack.write(fillLibrary)
      let original = stack.model
      try stack.reopen(
        model: try base.changed {
          $0.tag = []
          Library.replace("tags", in: &$0.book)
          Library.replace("isbn", in: &$0.book)
        }.model, options: [StoreOption.allowsDataLoss: true])
      try stack.reopen(model: original)
      try stack.read { context in
        try expectEqual(try context.names("Book", where: equal("isbn", "1")), ["Egla"])
        try expectEqual(try context.one("Tag").labels(of: "books"), ["Edda", "Egla"])
      }
    }
  }

  @CasesBuilder private static var laterPrograms: [Case] {
    Case("a program that is older than the store is advised to be updated, and the option's loss is named") { stack in
      try stack.reopen(at: try stack.makeLocation(), model: try base.model)
      let older = stack.model
      let later = try base.changed {
        $0.others = [Entity("Comic", parent: "Book") { Attribute("artist", .string, optional: true) }]
      }.model
      try stack.reopen(model: later)
      try stack.write { try $0.make("Comic", ["title": "C"]) }
      let error = try expectThrows(.incompatibleModel) { try stack.reopen(model: older) }
      try expectAdvice(error.message, losing: ["1 record of 'Comic'"])
      let reason = "This model is older than the store"
      try expect(error.message.contains(reason), "the reason: \(error.message)")
      try stack.reopen(model: later)
      try stack.read { try expectEqual(try $0.names("Comic"), ["C"]) }
    }
    Case("a model that the store does not know is refused with the last model of the store, which may be later") {
      stack in
      let (original, error) = try refusal(stack) {
        Library.replace("pages", in: &$0.book, by: Attribute("pages", .string, optional: true))
        $0.book.append(Attribute("language", .string))
      }
      // The required attribute without a default is no loss, so that no option ends the refusal.
      let option = StoreOption.allowsDataLoss
      try expect(!error.message.contains(option), "no option for a loss: \(error.message)")
      let advice = "If this model is older than a model without a name"
      try expect(error.message.contains(advice), "the advice: \(error.message)")
      try stack.reopen(model: original)
      try stack.read { try expectEqual(try $0.names("Book", where: equal("pages", 101)), ["Egla"]) }
    }
  }

  @CasesBuilder private static var harmlessChanges: [Case] {
    Case("a to-one relationship without targets may become to-many, and to-one again") { stack in
      try stack.reopen(at: try stack.makeLocation(), model: try base.model)
      try stack.write { context in
        try context.make("Book", ["title": "A"])
        try context.make("Author", ["name": "Snorri"])
      }
      let original = stack.model
      let changed = try base.changed {
        Library.replace("author", in: &$0.book, by: Relationship("author", toMany: "Author", inverse: "books"))
      }.model
      try stack.reopen(model: changed)
      try stack.write { try $0.one("Book").setObjects([try $0.one("Author")], for: "author") }
      try stack.reopen()
      try stack.read { try expectEqual(try $0.one("Author").labels(of: "books"), ["A"]) }
      try expectThrows(.incompatibleModel) { try stack.reopen(model: original) }
      try stack.reopen(model: changed)
      try stack.write { try $0.one("Book").setObjects([], for: "author") }
      try stack.reopen(model: original)
      try stack.write { try $0.one("Book").setObject(try $0.one("Author"), for: "author") }
      try stack.reopen()
      try stack.read { try expectEqual(try $0.one("Author").labels(of: "books"), ["A"]) }
      // The store has dropped its place for the links of the to-many form, and makes it again.
      try stack.write { try $0.one("Book").setObject(nil, for: "author") }
      try stack.reopen(model: changed)
      try stack.write { try $0.one("Book").setObjects([try $0.one("Author")], for: "author") }
      try stack.reopen()
      try stack.read { try expectEqual(try $0.one("Author").labels(of: "books"), ["A"]) }
    }
    Case("an attribute without values may have another type") { stack in
      try stack.reopen(at: try stack.makeLocation(), model: try base.model)
      try stack.write { try $0.make("Book", ["title": "A"]) }
      try stack.reopen(
        model: try base.changed {
          Library.replace("pages", in: &$0.book, by: Attribute("pages", .string, optional: true))
        }.model)
      try stack.write { try $0.one("Book").setValue("many", for: "pages") }
      try stack.reopen()
      try stack.read { try expectEqual(try $0.names("Book", where: equal("pages", "many")), ["A"]) }
    }
    Case("an attribute that every record has a value for may become required") { stack in
      try stack.reopen(at: try stack.makeLocation(), model: try base.model)
      try stack.write(fillLibrary)
      try stack.reopen(
        model: try base.changed { Library.replace("isbn", in: &$0.book, by: Attribute("isbn", .string)) }.model)
      try stack.read { try expectEqual(try $0.names("Book", where: equal("isbn", "1")), ["Egla"]) }
    }
  }
}
