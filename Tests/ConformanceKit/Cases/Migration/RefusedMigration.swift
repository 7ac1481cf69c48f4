import CoherenceCore

extension ConformanceSubject {
  static let refusedMigration = ConformanceSubject("Refused migration") { kinds }

  static let migrationOptions = ConformanceSubject("Options of migration") { options }

  /// A store does not open with the changed model, says why, and still opens with its own.
  private static func refused(
    _ sentence: String, _ word: String, _ change: @escaping @Sendable (inout Library) -> Void,
    fill: @escaping @Sendable (ManagedObjectContext) throws -> Void = { _ in }
  ) -> Case {
    Case(sentence) { stack in
      try stack.reopen(at: try stack.makeLocation(), model: try base.model)
      try stack.write(fillLibrary)
      try stack.write(fill)
      let original = stack.model
      let error = try expectThrows(.incompatibleModel) { try stack.reopen(model: try base.changed(change).model) }
      try expect("\(error)".contains(word), "the message to name '\(word)'")
      try stack.reopen(model: original)
      try stack.read { context in
        try expectEqual(try context.one("Author").labels(of: "books"), ["Edda", "Egla"])
        try expectEqual(try context.one("Tag").labels(of: "books"), ["Edda", "Egla"])
        try expectEqual(try context.names("Book", where: equal("pages", 101)), ["Egla"])
      }
    }
  }

  @CasesBuilder private static var kinds: [Case] {
    refused("another type of an attribute is refused", "pages") {
      Library.replace("pages", in: &$0.book, by: Attribute("pages", .string, optional: true))
    }
    refused("a required attribute without a default is refused", "language") {
      $0.book.append(Attribute("language", .string))
    }
    refused("an optional attribute that becomes required without a default is refused", "isbn") {
      Library.replace("isbn", in: &$0.book, by: Attribute("isbn", .string))
    } fill: { context in
      try context.one("Book", where: equal("title", "Egla")).setValue(String?.none, for: "isbn")
    }
    Case("an attribute of a constraint becomes required, unless several records would get its default") { stack in
      let constrained = base.changed { $0.uniqueness = [["isbn"]] }
      let original = try constrained.model
      let required = try constrained.changed {
        Library.replace("isbn", in: &$0.book, by: Attribute("isbn", .string, default: "none"))
      }.model
      func write(_ titles: [String]) throws {
        try stack.write { context in for title in titles { try context.make("Book", ["title": title]) } }
      }
      try stack.reopen(at: try stack.makeLocation(), model: original)
      try write(["A", "B"])
      let error = try expectThrows(.incompatibleModel) { try stack.reopen(model: required) }
      try expectEqual(error.duplicateKeys.map(\.recordCount), [2])
      try stack.reopen(model: original)
      try stack.write { $0.delete(try $0.one("Book", where: equal("title", "B"))) }
      try stack.reopen(model: required)
      try stack.read { try expectEqual(try $0.names("Book", where: equal("isbn", "none")), ["A"]) }
      _ = try expectThrows(.uniquenessViolated) { try write(["again"]) }
      // The earlier program leaves records without a value, and the later one opens the store nevertheless.
      try stack.reopen(model: original)
      try write(["C", "D"])
      try stack.reopen(model: required)
      try stack.read { try expectEqual(try $0.names("Book"), ["A", "C", "D"]) }
    }
    Case("an earlier model opens a store in which a later model made a required attribute unique and optional") {
      stack in
      let original = try base.changed {
        Library.replace("isbn", in: &$0.book, by: Attribute("isbn", .string, default: "none"))
      }.model
      let later = try base.changed { $0.uniqueness = [["isbn"]] }.model
      try stack.reopen(at: try stack.makeLocation(), model: original)
      try stack.write { try $0.make("Book", ["title": "A", "isbn": "1"]) }
      try stack.reopen(model: later)
      try stack.write { context in for title in ["B", "C"] { try context.make("Book", ["title": title]) } }
      for model in [original, later, original] {
        try stack.reopen(model: model)
        try stack.read { context in
          try expectEqual(try context.names("Book"), ["A", "B", "C"])
          try expectEqual(try context.names("Book", where: equal("isbn", "1")), ["A"])
        }
      }
    }
    refused("an attribute of another name is refused where a value is required", "heading") {
      Library.replace("title", in: &$0.book, by: Attribute("heading", .string))
    }
    refused("a to-one relationship that becomes to-many is refused", "author") {
      Library.replace("author", in: &$0.book, by: Relationship("author", toMany: "Author", inverse: "books"))
    }
    refused("a to-many relationship that becomes to-one is refused", "tags") {
      Library.replace("tags", in: &$0.book, by: Relationship("tags", toOne: "Tag", inverse: "books"))
    }
    refused("an attribute that becomes a relationship is refused", "isbn") {
      Library.replace("isbn", in: &$0.book, by: Relationship("isbn", toOne: "Tag", inverse: nil))
    }
    refused("another destination of a relationship is refused", "author") {
      Library.replace("author", in: &$0.book, by: Relationship("author", toOne: "Tag", inverse: nil))
      Library.replace("books", in: &$0.author)
    }
    refused("an entity that moves into another hierarchy is refused", "Tag") {
      let tag = $0.tag
      $0.tag = []
      var entity = Entity("Tag", parent: "Author")
      entity.properties = tag.compactMap { $0.name == "name" ? nil : $0 }.map { property in
        guard var relationship = property as? Relationship else { return property }
        relationship.name = "tagged"
        return relationship
      }
      $0.others.append(entity)
      Library.replace("tags", in: &$0.book, by: Relationship("tags", toMany: "Tag", inverse: "tagged"))
    }
  }

  @CasesBuilder private static var options: [Case] {
    Case("a constraint that existing records break is refused and changes nothing") { stack in
      try stack.reopen(at: try stack.makeLocation(), model: try base.model)
      try stack.write { context in
        for title in ["A", "B"] { try context.make("Book", ["title": title, "isbn": "same"]) }
      }
      let original = stack.model
      _ = try expectThrows(oneOf: [.incompatibleModel, .uniquenessViolated]) {
        try stack.reopen(model: try base.changed { $0.uniqueness = [["isbn"]] }.model)
      }
      try stack.reopen(model: original)
      try stack.read { try expectEqual(try $0.names("Book"), ["A", "B"]) }
    }
    Case("any difference is refused where migration is not wanted") { stack in
      try stack.reopen(at: try stack.makeLocation(), model: try base.model)
      try stack.write(fillLibrary)
      let original = stack.model
      _ = try expectThrows(.incompatibleModel) {
        try stack.reopen(
          model: try base.changed { $0.book.append(Attribute("language", .string, optional: true)) }.model,
          options: [StoreOption.migrateAutomatically: false])
      }
      try stack.reopen(model: original, options: [StoreOption.migrateAutomatically: false])
      try stack.read { try expectEqual(try $0.names("Book"), ["Edda", "Egla"]) }
    }
    Case("a model without any of the store's entities is refused and changes nothing") { stack in
      try stack.reopen(at: try stack.makeLocation(), model: try base.model)
      try stack.write(fillLibrary)
      let original = stack.model
      let stranger = try ManagedObjectModel(name: "Stranger") { Entity("Invoice") { Attribute("number", .int64) } }
      for options in [[:], [StoreOption.allowsDataLoss: true]] as [[String: OptionValue]] {
        _ = try expectThrows(.incompatibleModel) { try stack.reopen(model: stranger, options: options) }
      }
      try stack.reopen(model: original)
      try stack.read { context in
        try expectEqual(try context.one("Author").labels(of: "books"), ["Edda", "Egla"])
        try expectEqual(try context.one("Tag").labels(of: "books"), ["Edda", "Egla"])
      }
    }
    Case("a model with equal entity names and different properties is refused") { stack in
      try stack.reopen(at: try stack.makeLocation(), model: try base.model)
      try stack.write(fillLibrary)
      let original = stack.model
      let stranger = try ManagedObjectModel { Entity("Book") { Attribute("seats", .int32, optional: true) } }
      _ = try expectThrows(.incompatibleModel) { try stack.reopen(model: stranger) }
      try stack.reopen(model: original)
      try stack.read { try expectEqual(try $0.names("Book"), ["Edda", "Egla"]) }
    }
    Case("the option to lose data is true or false") { stack in
      _ = try expectThrows(.invalidOption) { try stack.reopen(options: [StoreOption.allowsDataLoss: "yes"]) }
    }
    Case("setting a store aside makes room for an empty one") { stack in
      try stack.reopen(at: try stack.makeLocation(), model: try base.model)
      try stack.write(fillLibrary)
      let store = try stack.store
      try stack.close()
      let place = try stack.coordinator.factory(for: store.type).setAside(store.environment)
      try expect(!place.isEmpty, "the place where it is now")
      let model = try base.changed {
        Library.replace("pages", in: &$0.book, by: Attribute("pages", .string, optional: true))
      }.model
      try stack.reopen(model: model)
      try expect(try stack.store.identifier != store.identifier, "another store")
      try stack.write { try $0.make("Book", ["title": "A", "pages": "many"]) }
      try stack.reopen()
      try stack.read { try expectEqual(try $0.names("Book"), ["A"]) }
    }
  }
}
