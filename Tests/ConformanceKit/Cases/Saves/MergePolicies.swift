import CoherenceCore

extension ConformanceSubject {
  static let mergePolicies = ConformanceSubject("Merge policies") {
    updates
    deletes
    custom
  }

  /// Two writers start from the same record; the first has saved when the second, with the policy, does.
  private static func race(
    _ stack: ConformanceStack, _ policy: MergePolicy, first: (ManagedObject, ManagedObjectContext) throws -> Void,
    second: (ManagedObject, ManagedObjectContext) throws -> Void
  ) throws {
    try stack.write { try $0.make("Album", ["title": "A", "year": 1959]) }
    let late = stack.context(policy)
    try late.performAndWait {
      let album = try late.one("Album")
      try album.load()
      try stack.write { try first(try $0.one("Album"), $0) }
      try second(album, late)
      try late.save()
      try expect(!late.hasChanges, "nothing left to save")
    }
  }

  /// The title and year of the one album; `nil` without one.
  private static func outcome(_ stack: ConformanceStack) throws -> [AttributeValue]? {
    try stack.read { context in
      try context.all("Album").first.map { [try $0.value(for: "title"), try $0.value(for: "year")] }
    }
  }

  private static func albums(_ title: String) -> FetchRequest<ManagedObject> {
    var request = FetchRequest<ManagedObject>(entityName: "Album")
    request.predicate = .comparison(.path(PropertyPath(names: ["title"])), .equal, .value(.string(title)))
    return request
  }

  private static func setting(_ title: String) -> (ManagedObject, ManagedObjectContext) throws -> Void {
    { album, _ in try album.setValue(title, for: "title") }
  }

  private static func setting(year: Int) -> (ManagedObject, ManagedObjectContext) throws -> Void {
    { album, _ in try album.setValue(year, for: "year") }
  }

  private static func delete(_ album: ManagedObject, _ context: ManagedObjectContext) throws { context.delete(album) }

  @CasesBuilder private static var updates: [Case] {
    Case("the error policy reports changes of different properties too") { stack in
      try expectThrows(.versionConflict) {
        try race(stack, .error, first: setting("first"), second: setting(year: 2000))
      }
      try expectEqual(try outcome(stack), [.string("first"), .int(1959)])
    }
    Case("with the store's win, the first writer's property stays") { stack in
      try race(stack, .storeTrumps, first: setting("first"), second: setting("second"))
      try expectEqual(try outcome(stack), [.string("first"), .int(1959)])
    }
    Case("with the store's win, other properties of the second writer are saved") { stack in
      try race(stack, .storeTrumps, first: setting("first"), second: setting(year: 2000))
      try expectEqual(try outcome(stack), [.string("first"), .int(2000)])
    }
    Case("with the object's win, the second writer's property is saved") { stack in
      try race(stack, .objectTrumps, first: setting("first"), second: setting("second"))
      try expectEqual(try outcome(stack), [.string("second"), .int(1959)])
    }
    Case("with the object's win, other properties of the first writer stay") { stack in
      try race(stack, .objectTrumps, first: setting("first"), second: setting(year: 2000))
      try expectEqual(try outcome(stack), [.string("first"), .int(2000)])
    }
    Case("overwriting saves the second writer's whole record") { stack in
      try race(stack, .overwrite, first: setting("first"), second: setting(year: 2000))
      try expectEqual(try outcome(stack), [.string("A"), .int(2000)])
    }
    Case("rolling back keeps the first writer's whole record") { stack in
      try race(stack, .rollback, first: setting("first"), second: setting(year: 2000))
      try expectEqual(try outcome(stack), [.string("first"), .int(1959)])
    }
    Case("after a merge the context shows the saved values") { stack in
      try stack.write { try $0.make("Album", ["title": "A", "year": 1959]) }
      let late = stack.context(.objectTrumps)
      try late.performAndWait {
        let album = try late.one("Album")
        try album.load()
        try stack.write { try $0.one("Album").setValue("first", for: "title") }
        try album.setValue(2000, for: "year")
        try late.save()
        try expectEqual(try album.label, "first")
        try expectEqual(try album.value(for: "year"), .int(2000))
        try expectEqual(album.version, 3)
      }
    }
    Case("a merge saves the records without a conflict unchanged") { stack in
      try stack.write { context in
        for title in ["A", "B"] { try context.make("Album", ["title": title, "year": 1]) }
      }
      let late = stack.context(.storeTrumps)
      try late.performAndWait {
        let albums = try late.all("Album", sort: [SortKey("title")])
        try stack.write { try $0.one("Album", where: equal("title", "A")).setValue(10, for: "year") }
        for album in albums { try album.setValue(20, for: "year") }
        try late.make("Album", ["title": "C", "year": 20])
        try late.save()
      }
      try stack.read { context in
        let years = try context.all("Album", sort: [SortKey("title")]).map { try $0.value(for: "year", as: Int.self) }
        try expectEqual(years, [10, 20, 20])
      }
    }
  }

  @CasesBuilder private static var deletes: [Case] {
    Case("the error policy reports a change of a deleted record") { stack in
      let error = try expectThrows(.versionConflict) {
        try race(stack, .error, first: delete, second: setting("second"))
      }
      try expect(error.conflicts.count == 1 && error.conflicts[0].store == nil, "a conflict without a store row")
    }
    Case("the error policy reports a delete of a changed record") { stack in
      let error = try expectThrows(.versionConflict) {
        try race(stack, .error, first: setting("first"), second: delete)
      }
      try expect(error.conflicts.count == 1 && error.conflicts[0].mine == nil, "a conflict without a row of mine")
      try expectEqual(try outcome(stack), [.string("first"), .int(1959)])
    }
    Case("with the store's win, a delete stays a delete") { stack in
      try race(stack, .storeTrumps, first: delete, second: setting("second"))
      try expectEqual(try outcome(stack), nil)
    }
    Case("with the store's win, a changed record is not deleted") { stack in
      try race(stack, .storeTrumps, first: setting("first"), second: delete)
      try expectEqual(try outcome(stack), [.string("first"), .int(1959)])
    }
    Case("with the object's win, a changed record is deleted") { stack in
      try race(stack, .objectTrumps, first: setting("first"), second: delete)
      try expectEqual(try outcome(stack), nil)
    }
    Case("overwriting deletes a changed record") { stack in
      try race(stack, .overwrite, first: setting("first"), second: delete)
      try expectEqual(try outcome(stack), nil)
    }
    Case("rolling back keeps a deleted record deleted") { stack in
      try race(stack, .rollback, first: delete, second: setting("second"))
      try expectEqual(try outcome(stack), nil)
    }
    Case("a record is deleted although the delete of a linked record is discarded") { stack in
      let first = stack.context()
      let id = try first.performAndWait {
        let album = try first.make("Album", ["title": "A"])
        _ = try first.make("Genre", ["name": "Jazz"])
        try first.save()
        return album.objectID
      }
      let second = stack.context()
      second.mergePolicy = .rollback
      // The second context reads the album before the link is saved.
      let album = try second.performAndWait { try second.existingObject(with: id) }
      try first.performAndWait {
        try first.one("Album").setValue("changed", for: "title")
        try first.one("Album").setObjects([try first.one("Genre")], for: "genres")
        try first.save()
      }
      try second.performAndWait {
        second.delete(album)
        second.delete(try second.one("Genre"))
        try second.save()
      }
      try stack.read { context in
        try expectEqual(try context.one("Album").objects(for: "genres").count, 0, "the number of genres")
        try expectEqual(try context.all("Genre").count, 0, "the number of records")
      }
    }
    Case("two deletes of one record agree under every lenient policy") { stack in
      for policy in [MergePolicy.storeTrumps, .objectTrumps, .overwrite, .rollback] {
        try race(stack, policy, first: delete, second: delete)
        try expectEqual(try outcome(stack), nil)
      }
    }
  }

  @CasesBuilder private static var custom: [Case] {
    Case("a policy that returns the stored values in place of a delete keeps the record's links") { stack in
      try stack.write { context in
        try context.make("Album", ["title": "A"]).setObjects(
          [try context.make("Genre", ["name": "jazz"])], for: "genres")
      }
      let context = stack.context(.custom { $0.store?.values })
      try context.performAndWait {
        context.delete(try context.one("Album"))
        try context.processPendingChanges()
        try stack.write { try $0.one("Album").setValue("B", for: "title") }
        try context.save()
        try expectEqual(try context.one("Album").labels(of: "genres"), ["jazz"])
      }
      try stack.read { context in
        try expectEqual(try context.one("Album", where: equal("title", "B")).labels(of: "genres"), ["jazz"])
      }
    }
    Case("a policy in code is given all three states and decides") { stack in
      let policy = MergePolicy.custom { conflict in
        guard let ancestor = conflict.ancestor, let mine = conflict.mine, let store = conflict.store else { return nil }
        let title = ancestor.entity.attribute(named: "title")!.slot
        var values = mine.values
        values[title] = .string([ancestor, store, mine].map { "\($0[title])" }.joined(separator: "+"))
        return values
      }
      try race(stack, policy, first: setting("first"), second: setting("second"))
      let parts = ["A", "first", "second"].map { "\(AttributeValue.string($0))" }
      try expectEqual(try outcome(stack), [.string(parts.joined(separator: "+")), .int(1959)])
    }
    Case("values of a policy in code that do not satisfy the model fail the save, and are named") { stack in
      let wrong: [(String, AttributeValue, ErrorCode)] = [
        ("title", .null, .missingValue), ("title", .int(1), .wrongType), ("year", .string("1959"), .wrongType),
      ]
      for (name, value, code) in wrong {
        let policy = MergePolicy.custom { conflict in
          guard var values = conflict.mine?.values, let entity = conflict.mine?.entity else { return nil }
          values[entity.attribute(named: name)!.slot] = value
          return values
        }
        let error = try expectThrows(.validationFailed) {
          try race(stack, policy, first: setting("first"), second: setting("second"))
        }
        try expectEqual(error.failures.map(\.propertyName), [name])
        try expectEqual(error.failures.map(\.code), [code])
        try expectEqual(try outcome(stack), [.string("first"), .int(1959)])
        try stack.write { context in try context.all("Album").forEach(context.delete) }
      }
    }
    Case("a policy in code must return a value for each slot") { stack in
      try expectThrows(.invalidValue) {
        try race(stack, .custom { _ in [.null] }, first: setting("first"), second: setting("second"))
      }
    }
    Case("a policy in code that changes objects of the saving context fails the save, and nothing is saved") { stack in
      let changes: [@Sendable (ManagedObjectContext) throws -> Void] = [
        { context in try context.fetch(Self.albums("B"))[0].setValue(2000, for: "year") },
        { context in
          try context.fetch(Self.albums("B"))[0].setValue(2000, for: "year")
          try context.processPendingChanges()
        },
        { context in try context.make("Album", ["title": "C", "year": 2000]) },
        { context in try context.fetch(Self.albums("B")).forEach(context.delete) },
        { context in context.rollback() },
        { context in context.refreshAll() },
        { context in try context.save() },
      ]
      for change in changes {
        try stack.write { context in try context.all("Album").forEach(context.delete) }
        try stack.write { try $0.make("Album", ["title": "B", "year": 1]) }
        let late = stack.context()
        late.mergePolicy = .custom { [unowned late] conflict in
          try change(late)
          return conflict.mine?.values
        }
        try expectThrows(.illegalState) {
          try late.performAndWait {
            let (album, other) = (
              try late.make("Album", ["title": "A", "year": 1]), try late.fetch(Self.albums("B"))[0]
            )
            try late.save()
            try stack.write { try $0.fetch(Self.albums("A"))[0].setValue("first", for: "title") }
            try album.setValue("second", for: "title")
            try other.setValue(2, for: "year")
            try late.save()
          }
        }
        try stack.read { context in
          try expectEqual(try context.fetch(Self.albums("first")).count, 1)
          try expectEqual(try context.fetch(Self.albums("B")).map { try $0.value(for: "year") }, [.int(1)])
          try expectEqual(try context.fetch(Self.albums("C")).count, 0)
        }
      }
    }
    Case("a policy in code may read objects of the saving context") { stack in
      try stack.write { try $0.make("Album", ["title": "B", "year": 7]) }
      let late = stack.context()
      late.mergePolicy = .custom { [unowned late] conflict in
        guard var values = conflict.mine?.values, let entity = conflict.mine?.entity else { return nil }
        values[entity.attribute(named: "year")!.slot] = try late.fetch(Self.albums("B"))[0].value(for: "year")
        return values
      }
      try late.performAndWait {
        let album = try late.make("Album", ["title": "A", "year": 1])
        try late.save()
        try stack.write { try $0.fetch(Self.albums("A"))[0].setValue(2, for: "year") }
        try album.setValue(3, for: "year")
        try late.save()
        try expectEqual(try album.value(for: "year"), .int(7))
      }
      try stack.read { try expectEqual(try $0.fetch(Self.albums("A"))[0].value(for: "year"), .int(7)) }
    }
    Case("a policy in code that throws fails the save") { stack in
      struct Refusal: Error {}
      let policy = MergePolicy.custom { _ in throw Refusal() }
      do {
        try race(stack, policy, first: setting("first"), second: setting("second"))
      } catch is Refusal {
        return
      } catch let error as CoherenceError where error.underlying is Refusal || error.code == .versionConflict {
        return
      }
      throw ConformanceFailure("expected the save to fail")
    }
  }
}
