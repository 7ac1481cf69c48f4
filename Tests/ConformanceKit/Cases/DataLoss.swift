import CoherenceCore

extension ConformanceSubject {
  static let dataLoss = ConformanceSubject("Data loss") {
    losses
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
      for word in words + [StoreOption.allowsDataLoss] {
        try expect(error.message.contains(word), "the message to name '\(word)': \(error.message)")
      }
      try expectEqual(error.dataLosses.map(\.count).reduce(0, +), count, "what would be lost")
      try expect(error.dataLosses.allSatisfy { !$0.table.isEmpty }, "the tables' names")
      try stack.reopen(model: original)
      try stack.read { try expectEqual(try $0.names("Author"), ["Snorri"]) }
      try stack.reopen(model: changed, options: [StoreOption.allowsDataLoss: true])
      try stack.write(check)
      try stack.reopen()
    }
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
    Case("the error names all losses") { stack in
      try stack.reopen(at: try stack.makeLocation(), model: try base.model)
      try stack.write(fillLibrary)
      let original = stack.model
      let error = try expectThrows(.incompatibleModel) {
        try stack.reopen(
          model: try base.changed {
            Library.replace("pages", in: &$0.book, by: Attribute("pages", .string, optional: true))
            Library.replace("isbn", in: &$0.book, by: Attribute("isbn", .int64, optional: true))
          }.model)
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

  @CasesBuilder private static var harmlessChanges: [Case] {
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
