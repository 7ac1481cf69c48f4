import CoherenceCore
import Synchronization

/// Inserted records with the unique values of stored ones.
extension ConformanceSubject {
  static let uniqueJoins = ConformanceSubject("Unique values of other writers") {
    joinValues
    joinIdentities
    joinUpdates
    joinConstraints
    joinRelationships
    joinPositions
    joinRaces
    joinCosts
    mergeRules
    mergeRulesOfChildren
    mergeRulesOfJoins
    mergeRuleFaults
  }

  /// Saves a tag of another writer, and returns its identifier.
  static func store(
    _ stack: ConformanceStack, _ values: [String: any AttributeConvertible], as entity: String = "Tag"
  ) throws -> ManagedObjectID {
    let context = stack.context()
    return try context.performAndWait {
      let tag = try context.make(entity, values)
      try context.save()
      return tag.objectID
    }
  }

  /// Inserts a tag in a context with a policy, and saves.
  static func insertTag(
    _ stack: ConformanceStack, _ policy: MergePolicy, _ values: [String: any AttributeConvertible]
  ) throws -> ManagedObjectID {
    let context = stack.context(policy)
    return try context.performAndWait {
      let tag = try context.make("Tag", values)
      try context.save()
      try expect(!context.hasChanges, "nothing left to save")
      return tag.objectID
    }
  }

  static func tag(_ stack: ConformanceStack, _ names: [String]) throws -> [AttributeValue] {
    try stack.read { context in
      let tag = try context.one("Tag")
      return try names.map { try tag.value(for: $0) }
    }
  }

  // MARK: Values

  @CasesBuilder private static var joinValues: [Case] {
    Case(
      "with the error policy an inserted record with a stored unique value is refused by both ids", model: Labels.model
    ) { stack in
      let id = try store(stack, ["name": "a"])
      let context = stack.context()
      try context.performAndWait {
        let tag = try context.make("Tag", ["name": "a"])
        let error = try expectThrows(.uniquenessViolated) { try context.save() }
        try expectEqual(error.objectIDs, [tag.objectID, id])
        if let violation = error.uniqueness {
          try expectEqual(violation.propertyNames, ["name"])
          try expectEqual(violation.values, [.string("a")])
        }
        try expect(tag.isInserted, "the object to stay inserted")
      }
    }
    Case(
      "with the object's win, an inserted record with a stored unique value changes the stored record",
      model: Labels.model
    ) { stack in
      let id = try store(stack, ["name": "a", "colour": "red", "plays": 7, "rating": 5])
      try expectEqual(try insertTag(stack, .objectTrumps, ["name": "a", "colour": "blue"]), id)
      try expectEqual(
        try tag(stack, ["colour", "plays", "rating"]), [.string("blue"), .int(7), .int(5)])
    }
    Case(
      "with the store's win, an inserted record with a stored unique value changes nothing of the stored record",
      model: Labels.model
    ) { stack in
      let id = try store(stack, ["name": "a", "colour": "red"])
      try expectEqual(try insertTag(stack, .storeTrumps, ["name": "a", "colour": "blue", "plays": 9]), id)
      try expectEqual(try tag(stack, ["colour", "plays"]), [.string("red"), .int(1)])
    }
    Case(
      "rolling back, an inserted record with a stored unique value becomes the stored record as it is",
      model: Labels.model
    ) { stack in
      let id = try store(stack, ["name": "a", "plays": 7])
      try expectEqual(try insertTag(stack, .rollback, ["name": "a", "colour": "blue", "plays": 9]), id)
      try expectEqual(try tag(stack, ["colour", "plays"]), [.null, .int(7)])
    }
    Case(
      "overwriting, an inserted record with a stored unique value replaces all values of the stored record",
      model: Labels.model
    ) { stack in
      let id = try store(stack, ["name": "a", "colour": "red", "plays": 7, "rating": 5])
      try expectEqual(try insertTag(stack, .overwrite, ["name": "a"]), id)
      try expectEqual(try tag(stack, ["colour", "plays", "rating"]), [.null, .int(1), .int(3)])
    }
    Case(
      "a custom policy decides about an inserted record with a stored unique value, and knows the constraint",
      model: Labels.model
    ) { stack in
      let id = try store(stack, ["name": "a", "colour": "red", "plays": 7])
      let policy = MergePolicy.custom { conflict in
        guard conflict.uniqueProperties == ["name"], conflict.ancestor == nil, conflict.objectID == id,
          let plays = conflict.mine?.entity.attribute(named: "plays")?.slot, let mine = conflict.mine
        else { return nil }
        var values = conflict.store?.values
        values?[plays] = mine[plays]
        return values
      }
      try expectEqual(try insertTag(stack, policy, ["name": "a", "colour": "blue", "plays": 2]), id)
      try expectEqual(try tag(stack, ["colour", "plays"]), [.string("red"), .int(2)])
    }
    Case(
      "a derived attribute of a stored record follows the values that an inserted record brought", model: Labels.model
    ) { stack in
      _ = try store(stack, ["name": "a", "code": "1"])
      _ = try insertTag(stack, .objectTrumps, ["name": "b", "code": "1"])
      try expectEqual(try tag(stack, ["name", "title"]), [.string("b"), .string("B")])
    }
    Case("a value of a custom policy for an inserted record is checked by the model's rules", model: Labels.model) {
      stack in
      _ = try store(stack, ["name": "a"])
      let context = stack.context(.custom { $0.store.map { row in row.values.map { _ in .string("x") } } })
      try context.performAndWait {
        let tag = try context.make("Tag", ["name": "a"])
        try expectThrows(.validationFailed) { try context.save() }
        try expect(tag.isInserted && tag.objectID.isTemporaryID, "the object to stay inserted")
      }
    }
  }

  // MARK: Updates

  @CasesBuilder private static var joinUpdates: [Case] {
    Case("with the store's win, an update gives the unique value of another stored record back", model: Labels.model) {
      stack in
      _ = try store(stack, ["name": "a"])
      let context = stack.context(.storeTrumps)
      try context.performAndWait {
        let tag = try context.make("Tag", ["name": "b"])
        try context.save()
        try tag.setValue("a", for: "name")
        try tag.setValue("green", for: "colour")
        try context.save()
        try expectEqual(try tag.value(for: "name"), .string("b"))
        try expectEqual(try tag.value(for: "title"), .string("B"))
        try expectEqual(try tag.value(for: "colour"), .string("green"))
        try expect(!context.hasChanges, "nothing left to save")
      }
      try stack.read {
        try expectEqual(try $0.one("Tag", where: equal("name", "b")).value(for: "colour"), .string("green"))
        try expectEqual(try $0.number(of: "Tag"), 2)
      }
    }
    Case(
      "rolling back, an update that takes the unique value of another stored record is discarded", model: Labels.model
    ) { stack in
      _ = try store(stack, ["name": "a"])
      let context = stack.context(.rollback)
      try context.performAndWait {
        let tag = try context.make("Tag", ["name": "b"])
        try context.save()
        try tag.setValue("a", for: "name")
        try tag.setValue("green", for: "colour")
        try context.save()
        try expectEqual(try tag.value(for: "name"), .string("b"))
        try expectEqual(try tag.value(for: "colour"), .null)
      }
    }
    Case("with the object's win, an update never merges two stored records", model: Labels.model) { stack in
      let id = try store(stack, ["name": "a"])
      for policy in [MergePolicy.objectTrumps, .overwrite, .custom { $0.mine?.values }] {
        let context = stack.context(policy)
        try context.performAndWait {
          let tag = try context.make("Tag", ["code": "2"])
          try context.save()
          try tag.setValue("a", for: "name")
          let error = try expectThrows(.uniquenessViolated) { try context.save() }
          try expectEqual(error.objectIDs, [tag.objectID, id])
          try expectEqual(error.uniqueness?.values, [.string("a")])
          try expectEqual(try tag.value(for: "name"), .string("a"))
          context.delete(tag)
          try context.save()
        }
      }
    }
  }

  // MARK: Constraints

  @CasesBuilder private static var joinConstraints: [Case] {
    Case("records that only lack the same unique value are not joined", model: Labels.model) { stack in
      _ = try store(stack, ["colour": "red"])
      _ = try insertTag(stack, .objectTrumps, ["colour": "blue"])
      try stack.read { try expectEqual(try $0.number(of: "Tag"), 2) }
    }
    Case("records that are unique by a relationship and a number are joined by both", model: Labels.model) { stack in
      let tagID = try store(stack, ["name": "a"])
      let context = stack.context(.objectTrumps)
      try stack.write { context in
        let tag = try context.existingObject(with: tagID)
        for number in 0..<3 {
          try context.make("Step", ["name": "s\(number)", "number": number]).setObject(tag, for: "tag")
        }
      }
      try context.performAndWait {
        let tag = try context.make("Tag", ["name": "a"])
        for number in 2..<4 {
          try context.make("Step", ["name": "n\(number)", "number": number]).setObject(tag, for: "tag")
        }
        try context.save()
        try expectEqual(tag.objectID, tagID)
      }
      try stack.read {
        try expectEqual(try $0.names("Step"), ["n2", "n3", "s0", "s1"])
        try expectEqual(try $0.one("Tag").objects(for: "steps").count, 4)
      }
    }
    Case("a record of a subentity with the value of its parent's constraint is joined", model: Labels.model) { stack in
      let id = try store(stack, ["name": "a", "volume": 4], as: "LoudTag")
      let context = stack.context(.objectTrumps)
      try context.performAndWait {
        let loud = try context.make("LoudTag", ["name": "a", "colour": "blue"])
        try context.save()
        try expectEqual(loud.objectID, id)
        try expectEqual(try loud.value(for: "volume"), .int(4))
      }
      try stack.read { try expectEqual(try $0.one("LoudTag").value(for: "colour"), .string("blue")) }
    }
    Case("a record becomes a stored record of a subentity, and its object leaves the context", model: Labels.model) {
      stack in
      let id = try store(stack, ["name": "a", "volume": 4], as: "LoudTag")
      let context = stack.context(.objectTrumps)
      try context.performAndWait {
        let tag = try context.make("Tag", ["name": "a", "colour": "blue"])
        let temporary = tag.objectID
        try context.save()
        try expectEqual(tag.objectID, id)
        try expect(tag.managedObjectContext == nil, "the object to have left the context")
        let loud = try context.existingObject(with: temporary)
        try expectEqual(loud.entity.name, "LoudTag")
        try expectEqual(try loud.value(for: "colour"), .string("blue"))
        try expectEqual(try loud.value(for: "volume"), .int(4))
      }
    }
    Case("a record does not become a record of another subentity or of its parent", model: Labels.model) { stack in
      let id = try store(stack, ["name": "a"], as: "SoftTag")
      _ = try store(stack, ["name": "b"])
      let context = stack.context(.objectTrumps)
      try context.performAndWait {
        for (name, other) in [("a", id), ("b", nil)] as [(String, ManagedObjectID?)] {
          let loud = try context.make("LoudTag", ["name": name])
          let error = try expectThrows(.uniquenessViolated) { try context.save() }
          try expect(error.objectIDs.contains(loud.objectID), "the error to name the inserted record")
          if let other { try expect(error.objectIDs.contains(other), "the error to name the stored record") }
          context.delete(loud)
        }
      }
    }
    Case(
      "a record with the unique values of two stored records joins the first and keeps out of the second",
      model: Labels.model
    ) { stack in
      let id = try store(stack, ["name": "a", "code": "1"])
      let other = try store(stack, ["name": "b", "code": "2"])
      let context = stack.context(.objectTrumps)
      try context.performAndWait {
        let tag = try context.make("Tag", ["name": "a", "code": "2"])
        let error = try expectThrows(.uniquenessViolated) { try context.save() }
        try expectEqual(error.objectIDs, [tag.objectID, other])
        try expect(tag.isInserted && tag.objectID.isTemporaryID, "the object to stay inserted")
        try expectEqual(try tag.value(for: "code"), .string("2"))
        context.mergePolicy = .storeTrumps
        try context.save()
        try expectEqual(tag.objectID, id)
        try expectEqual(try tag.value(for: "code"), .string("1"))
      }
    }
    Case("of two inserted records with one unique value, the later one joins the earlier one", model: Labels.model) {
      stack in
      let context = stack.context(.objectTrumps)
      try context.performAndWait {
        let first = try context.make("Tag", ["name": "a", "colour": "red", "plays": 5])
        let second = try context.make("Tag", ["name": "a", "colour": "blue"])
        let note = try context.make("Note", ["name": "n"])
        try second.setObjects([note], for: "notes")
        let temporary = second.objectID
        try context.save()
        try expectEqual(second.objectID, first.objectID)
        try expect(context.object(with: temporary) === first, "the first object")
        try expectEqual(try first.value(for: "colour"), .string("blue"))
        try expectEqual(try first.labels(of: "notes"), ["n"])
        try expectEqual(try note.objects(for: "tags"), [first])
      }
      try expectEqual(try tag(stack, ["colour", "plays"]), [.string("blue"), .int(5)])
    }
    Case("of a child's objects of inserted records that become one record, the earliest one stays", model: Labels.model)
    {
      stack in
      let parent = stack.context(.objectTrumps)
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
      let temporaryIDs = try parent.performAndWait {
        // Of the earliest record, the child has no object.
        try (0..<9).map { try parent.make("Tag", ["name": "a", "plays": $0]).objectID }.dropFirst()
      }
      let tags = try child.performAndWait { try temporaryIDs.map { try child.existingObject(with: $0) } }
      try parent.performAndWait { try parent.save() }
      let present = child.performAndWait { tags.map { $0.managedObjectContext === child } }
      try expectEqual(present, [true] + Array(repeating: false, count: 7), "the objects in the child")
    }
    Case("many inserted records with used unique values are joined in one save", model: Labels.model) { stack in
      let interposition = try stack.interpose()
      try stack.write { context in for number in 0..<1_200 { try context.make("Tag", ["name": "\(number)"]) } }
      let fresh = stack.context(.objectTrumps)
      try fresh.performAndWait {
        for number in 600..<1_800 { try fresh.make("Tag", ["name": "\(number)", "colour": "blue"]) }
        let saves = interposition.saveCount
        try fresh.save()
        try expectEqual(interposition.saveCount - saves, 2, "the number of saves")
      }
      try stack.read {
        try expectEqual(try $0.number(of: "Tag"), 1_800)
        try expectEqual(try $0.number(of: "Tag", where: equal("colour", "blue")), 1_200)
      }
    }
  }
}
