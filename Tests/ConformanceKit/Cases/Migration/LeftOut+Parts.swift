import CoherenceCore

extension ConformanceSubject {
  private static let partial: [String: OptionValue] = [StoreOption.partialModel: true]

  private static func readers(_ properties: any PropertyDeclaration...) -> Entity {
    var entity = Entity("Reader")
    entity.properties = properties.isEmpty ? [Attribute("name", .string)] : properties
    return entity
  }

  /// A store with books and readers, whose last model has both.
  private static func fill(_ stack: ConformanceStack) throws {
    let library = base.changed {
      $0.others.append(readers())
      $0.uniqueness = [["title"]]
      $0.indexes = [["pages"]]
    }
    try stack.reopen(at: try stack.makeLocation(), model: try library.model)
    try stack.write { context in
      try fillLibrary(context)
      try context.make("Reader", ["name": "first"])
    }
  }

  @CasesBuilder static var parts: [Case] {
    Case("a program with a part of the model changes records of the part and nothing else of the store") { stack in
      try fill(stack)
      let (whole, before) = (stack.model, try stack.store.metadata())
      try stack.reopen(model: try ManagedObjectModel(entities: [readers()]), options: partial)
      try stack.write { context in
        try context.one("Reader").setValue("changed", for: "name")
        try context.make("Reader", ["name": "second"])
      }
      try expectEqual(try stack.store.metadata(), before, "the metadata under the part")
      // The right to migrate is not needed on the way back.
      try stack.reopen(model: whole, options: [StoreOption.migrateAutomatically: false])
      try expectEqual(try stack.store.metadata(), before, "the metadata of the whole model")
      try stack.read { context in
        try expectEqual(try context.names("Reader").sorted(), ["changed", "second"])
        try expectEqual(
          try context.one("Book", where: equal("author.name", "Snorri") && equal("pages", 100)).label, "Edda")
        try expectEqual(try context.number(of: "Book", where: members(.any, "tags", equal("name", "saga"))), 2)
      }
      // The constraint of the whole model is kept.
      try stack.read { context in
        try context.make("Book", ["title": "Edda"])
        try expectThrows(.uniquenessViolated) { try context.save() }
      }
    }
    Case("a program with a part of the model and one with the whole model use a store at the same time") { stack in
      try fill(stack)
      let coordinator = stack.makeCoordinator(model: try ManagedObjectModel(entities: [readers()]))
      try stack.attach(stack.location, to: coordinator, options: partial)
      let other = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
      try stack.write { try $0.make("Reader", ["name": "second"]) }
      try other.performAndWait {
        try expectEqual(try other.names("Reader").sorted(), ["first", "second"])
        try other.delete(other.one("Reader", where: equal("name", "first")))
        try other.save()
      }
      try stack.write { context in
        try expectEqual(try context.names("Reader"), ["second"])
        try expectEqual(try context.number(of: "Book"), 2)
        try context.make("Book", ["title": "new"])
      }
    }
    Case("a part that the store does not have as declared is refused, and the store stays as it is") { stack in
      try fill(stack)
      let (whole, before) = (stack.model, try stack.store.metadata())
      let parts = [
        [readers(), Entity("Stranger") { Attribute("name", .string) }],
        [readers(Attribute("name", .string), Attribute("age", .int64, optional: true))],
        [readers(Attribute("name", .int64))],
        [Entity("Stranger") { Attribute("name", .string) }],
      ]
      for part in parts {
        let coordinator = stack.makeCoordinator(model: try ManagedObjectModel(entities: part))
        try expectThrows(.incompatibleModel) { try stack.attach(stack.location, to: coordinator, options: partial) }
      }
      try stack.reopen(model: whole, options: [StoreOption.migrateAutomatically: false])
      try expectEqual(try stack.store.metadata(), before)
      try stack.read { try expectEqual(try $0.names("Reader"), ["first"]) }
    }
    Case("no store is made for a part of a model") { stack in
      let location = try stack.makeLocation()
      let coordinator = stack.makeCoordinator(model: try ManagedObjectModel(entities: [readers()]))
      try expectThrows(oneOf: [.notADatabase, .storeInaccessible]) {
        try stack.attach(location, to: coordinator, options: partial)
      }
      let environment = coordinator.environment(
        type: location.type, configurationName: nil, at: location.url, options: location.options)
      try expect(try coordinator.factory(for: location.type).metadata(environment) == nil, "no store")
    }
  }
}
