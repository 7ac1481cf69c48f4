import CoherenceCore

/// An error names every invalid record, before the store writes any.
extension ConformanceSubject {
  static let refusedSaves = ConformanceSubject("Refused saves") {
    validation
    brokenRules
    strangers
  }

  @CasesBuilder private static var validation: [Case] {
    Case("every missing value of every object is reported at once") { stack in
      try stack.read { context in
        let nameless = try ["Artist", "Label", "Genre"].map { try context.make($0) }
        let album = try context.make("Album", ["year": 1959])
        try context.make("Track", ["title": "So What"])
        let error = try expectThrows(.validationFailed) { try context.save() }
        try expectEqual(Set(error.failures.map(\.code)), [.missingValue])
        try expectEqual(error.failures.count, 4)
        try expectEqual(Set(error.failures.map(\.objectID)), Set((nameless + [album]).map(\.objectID)))
        try expectEqual(error.outcome, .notApplied)

        for object in nameless { try object.setValue("a", for: "name") }
        try album.setValue("Kind of Blue", for: "title")
        try context.save()
      }
      try stack.read { try expectEqual(try $0.number(of: "Track"), 1) }
    }
    Case("missing values and denied deletes are reported together", model: Rooms.model) { stack in
      try stack.read { context in
        let house = try context.make("House", ["name": "a"])
        try house.setObjects([try context.make("Tenant", ["name": "b"])], for: "tenants")
        try context.save()
        context.delete(house)
        try context.make("Guest")
        let error = try expectThrows(.validationFailed) { try context.save() }
        try expectEqual(Set(error.failures.map(\.code)), [.missingValue, .deleteDenied])
        try expectEqual(error.outcome, .notApplied)
        context.rollback()
        try expectEqual(try house.labels(of: "tenants"), ["b"])
      }
      try stack.read { context in
        try expectEqual(try context.number(of: "House"), 1)
        try expectEqual(try context.number(of: "Guest"), 0)
      }
    }
  }

  @CasesBuilder private static var brokenRules: [Case] {
    Case("each failure of a save has the rule that the value does not satisfy", model: Samples.model) { stack in
      try stack.read { context in
        let account = try context.make("Account", ["name": "123456789", "email": "e", "age": 17])
        try account.setValue("x", for: "code")
        let error = try expectThrows(.validationFailed) { try context.save() }
        func rule(of name: String) throws -> ValidationRule? {
          try unwrap(error.failures.first { $0.propertyName == name }, "a failure of '\(name)'").rule
        }
        try expectEqual(try rule(of: "name"), .maximumLength(8))
        try expectEqual(try rule(of: "age"), .minimum(.int(18)))
        try expectEqual(try rule(of: "code"), .pattern("[A-Z]{2}[0-9]+"))
        try expectEqual(try rule(of: "owner"), nil)
      }
    }
    Case("a failure of a policy's value has the rule that the value does not satisfy", model: Samples.model) { stack in
      try stack.write { context in
        let account = try context.make("Account", ["name": "ab", "email": "e"])
        try account.setObject(try context.make("Owner", ["name": "o"]), for: "owner")
      }
      let policy = MergePolicy.custom { conflict in
        guard var values = conflict.mine?.values, let entity = conflict.mine?.entity else { return nil }
        values[entity.attribute(named: "name")!.slot] = .string("123456789")
        return values
      }
      let late = stack.context(policy)
      try late.performAndWait {
        let account = try late.one("Account")
        try account.load()
        try stack.write { try $0.one("Account").setValue("cd", for: "name") }
        try account.setValue("ef", for: "name")
        let error = try expectThrows(.validationFailed) { try late.save() }
        try expectEqual(error.failures.map(\.rule), [.maximumLength(8)])
      }
    }
  }

  @CasesBuilder private static var strangers: [Case] {
    Case("an object of another model's entity is not saved") { stack in
      let other = try ManagedObjectModel { Entity("Foreign") { Attribute("name", .string, default: "a") } }
      try stack.read { context in
        try context.make("Genre", ["name": "Jazz"])
        let foreign = ManagedObject(entity: try other.entity(named: "Foreign"), insertInto: context)
        let error = try expectThrows(oneOf: [.noStore, .unknownEntity]) { try context.save() }
        try expect(error.message.contains("Foreign"), "the message to name the entity")
        context.delete(foreign)
        try context.save()
      }
      try stack.read { try expectEqual(try $0.names("Genre"), ["Jazz"]) }
    }
    Case("an unknown store type is refused with the known types and two ways to add it") { stack in
      let registry = StoreRegistry()
      let known = stack.location.type
      try registry.register(StoreType("Known"), factory: try StoreRegistry.current.factory(for: known))
      let coordinator = PersistentStoreCoordinator(managedObjectModel: stack.model, registry: registry)
      for name in ["SQLite", "PostgreSQL", "InMemory"] {
        let error = try expectThrows(.unknownStoreType) {
          try coordinator.addPersistentStore(StoreConfiguration(type: StoreType(name)), at: nil)
        }
        try expect(error.message.contains("Known"), "the message to name the known types")
        try expect(error.message.contains(name), "the message to name the type")
        try expect(error.message.contains("register(_:factory:)"), "the message to name the way out")
      }
    }
  }
}
