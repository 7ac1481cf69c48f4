import CoherenceCore
import Foundation

/// Rules of merge policies for single properties.
extension ConformanceSubject {
  /// Two writers start from a tag with 10 plays; the first has saved when the second, with the policy, does.
  private static func raceOverTag(
    _ stack: ConformanceStack, _ policy: MergePolicy, first: [String: any AttributeConvertible],
    second: [String: any AttributeConvertible]
  ) throws {
    try stack.write { try $0.make("Tag", ["name": "a", "plays": 10, "rating": 3, "colour": "red"]) }
    let late = stack.context(policy)
    try late.performAndWait {
      let tag = try late.one("Tag")
      try tag.load()
      try stack.write { context in
        for (name, value) in first { try context.one("Tag").setValue(value, for: name) }
      }
      for (name, value) in second { try tag.setValue(value, for: name) }
      try late.save()
      try expect(!late.hasChanges, "nothing left to save")
    }
  }

  private static func rule(_ name: String, _ choice: MergeChoice<AttributeValue>) -> MergeRule {
    .rule(name, of: "Tag", choice)
  }

  // MARK: Versions

  @CasesBuilder static var mergeRules: [Case] {
    Case("a sum keeps the changes of both writers, equal ones too", model: Labels.model) { stack in
      try raceOverTag(
        stack, .byProperty([rule("plays", .sum)], otherwise: .storeTrumps), first: ["plays": 15, "rating": 1],
        second: ["plays": 12, "rating": 5])
      try expectEqual(try tag(stack, ["plays", "rating"]), [.int(17), .int(1)])
      try stack.write { context in context.delete(try context.one("Tag")) }
      try raceOverTag(
        stack, .byProperty([rule("plays", .sum)], otherwise: .error), first: ["plays": 11], second: ["plays": 11])
      try expectEqual(try tag(stack, ["plays"]), [.int(12)])
    }
    Case("rules choose the value of the store, of the context, the larger and the smaller value", model: Labels.model) {
      stack in
      let expected: [(MergeChoice<AttributeValue>, Int64)] = [
        (.store, 20), (.context, 5), (.larger, 20), (.smaller, 5),
      ]
      for (choice, plays) in expected {
        for fallback in [MergePolicy.objectTrumps, .storeTrumps, .overwrite, .rollback, .error] {
          try raceOverTag(
            stack, .byProperty([rule("plays", choice)], otherwise: fallback), first: ["plays": 20], second: ["plays": 5]
          )
          try expectEqual(try tag(stack, ["plays"]), [.int(plays)])
          try stack.write { context in context.delete(try context.one("Tag")) }
        }
      }
    }
    Case("the later of two dates wins, and a missing value loses", model: Labels.model) { stack in
      let (early, late) = (Date(timeIntervalSince1970: 1), Date(timeIntervalSince1970: 2))
      let policy = MergePolicy.byProperty([rule("seen", .newer), rule("colour", .smaller)], otherwise: .storeTrumps)
      try raceOverTag(
        stack, policy, first: ["seen": early, "colour": String?.none], second: ["seen": late, "colour": "blue"])
      try expectEqual(try tag(stack, ["seen", "colour"]), [late.attributeValue, .string("blue")])
    }
    Case("a closure combines the base and both values", model: Labels.model) { stack in
      let join = MergeChoice<AttributeValue>.merging { base, mine, stored in
        guard case .string(let base)? = base, case .string(let mine) = mine, case .string(let stored) = stored else {
          return .null
        }
        return .string("\(base) \(mine) \(stored)")
      }
      try raceOverTag(
        stack, .byProperty([rule("colour", join)], otherwise: .error), first: ["colour": "green"],
        second: ["colour": "blue"])
      try expectEqual(try tag(stack, ["colour"]), [.string("red blue green")])
    }
    Case("a property that one writer changed has that writer's value whatever its rule is", model: Labels.model) {
      stack in
      for fallback in [MergePolicy.objectTrumps, .storeTrumps, .overwrite, .rollback, .error] {
        let policy = MergePolicy.byProperty([rule("plays", .larger), rule("rating", .store)], otherwise: fallback)
        try raceOverTag(stack, policy, first: ["plays": 4], second: ["rating": 5])
        try expectEqual(try tag(stack, ["plays", "rating"]), [.int(4), .int(5)])
        try stack.write { context in context.delete(try context.one("Tag")) }
      }
    }
    Case("with the error policy for the rest, a conflict without a rule is reported", model: Labels.model) { stack in
      let policy = MergePolicy.byProperty([rule("plays", .sum)], otherwise: .error)
      try expectThrows(.versionConflict) {
        try raceOverTag(
          stack, policy, first: ["plays": 11, "colour": "green"], second: ["plays": 12, "colour": "blue"])
      }
      try expectEqual(try tag(stack, ["plays", "colour"]), [.int(11), .string("green")])
    }
    Case("a view that has refreshed an equal edit still adds its own to a sum", model: Labels.model) { stack in
      try stack.write { try $0.make("Tag", ["name": "a", "plays": 10]) }
      let root = stack.context()
      let view = ManagedObjectContext(parent: root)
      view.savesPastParent = true
      view.mergePolicy = .byProperty([rule("plays", .sum)], otherwise: .error)
      try view.performAndWait {
        let tag = try view.one("Tag")
        try tag.setValue(11, for: "plays")
        let other = ManagedObjectContext(parent: root)
        other.savesPastParent = true
        view.follow(other)
        try other.performAndWait {
          try other.one("Tag").setValue(11, for: "plays")
          try other.save()
        }
      }
      try view.performAndWait { try view.save() }
      try expectEqual(try tag(stack, ["plays"]), [.int(12)])
    }
  }

  // MARK: Child contexts

  @CasesBuilder static var mergeRulesOfChildren: [Case] {
    Case("equal edits of a child and of another writer are both added to a sum", model: Labels.model) { stack in
      for hasMerged in [false, true] {
        try stack.write { try $0.make("Tag", ["name": "a", "plays": 10]) }
        let policy = MergePolicy.byProperty([rule("plays", .sum)], otherwise: .error)
        let (writer, parent) = (stack.context(), stack.context(policy))
        parent.follow(writer)
        let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
        child.mergePolicy = policy
        func add(in context: ManagedObjectContext) throws {
          try context.one("Tag").setValue(11, for: "plays")
          if context === writer { try context.save() }
        }
        if hasMerged {
          try child.performAndWait { try add(in: child) }
          try writer.performAndWait { try add(in: writer) }
          try child.performAndWait { try child.save() }
        } else {
          // The child merges no save in the middle of its block.
          try child.performAndWait {
            try add(in: child)
            try writer.performAndWait { try add(in: writer) }
            try child.save()
          }
        }
        try parent.performAndWait { try parent.save() }
        try expectEqual(try tag(stack, ["plays"]), [.int(12)])
        try stack.write { $0.delete(try $0.one("Tag")) }
      }
    }
  }

  // MARK: Unique values

  @CasesBuilder static var mergeRulesOfJoins: [Case] {
    Case("without a base, a rule decides between an assigned and a stored value", model: Labels.model) { stack in
      let policy = MergePolicy.byProperty(
        [
          rule("plays", .sum), rule("rating", .larger),
          rule("colour", .merging { base, mine, stored in base == nil ? mine : stored }),
        ], otherwise: .storeTrumps)
      let id = try store(stack, ["name": "a", "plays": 10, "rating": 4, "colour": "red"])
      try expectEqual(try insertTag(stack, policy, ["name": "a", "plays": 5, "rating": 9, "colour": "blue"]), id)
      try expectEqual(try tag(stack, ["plays", "rating", "colour"]), [.int(15), .int(9), .string("blue")])
    }
    Case("a rule leaves a stored value alone for which an inserted record has a default", model: Labels.model) {
      stack in
      let policy = MergePolicy.byProperty([rule("plays", .sum), rule("rating", .context)], otherwise: .objectTrumps)
      _ = try store(stack, ["name": "a", "plays": 10, "rating": 4])
      _ = try insertTag(stack, policy, ["name": "a"])
      try expectEqual(try tag(stack, ["plays", "rating"]), [.int(10), .int(4)])
    }
    Case("with the error policy for the rest, rules join no records", model: Labels.model) { stack in
      _ = try store(stack, ["name": "a", "plays": 10])
      try expectThrows(.uniquenessViolated) {
        try insertTag(stack, .byProperty([rule("plays", .sum)], otherwise: .error), ["name": "a"])
      }
    }
  }

  // MARK: Faults

  @CasesBuilder static var mergeRuleFaults: [Case] {
    Case("a rule for an unknown property, entity or type is refused before a save writes", model: Labels.model) {
      stack in
      let faults: [(MergeRule, ErrorCode)] = [
        (rule("tempo", .sum), .unknownProperty), (.rule("plays", of: "Tags", .sum), .unknownEntity),
        (rule("colour", .sum), .wrongType), (rule("notes", .store), .wrongType), (rule("owner", .larger), .wrongType),
      ]
      for (fault, code) in faults {
        let context = stack.context(.byProperty([fault], otherwise: .objectTrumps))
        try context.performAndWait {
          try context.make("Tag", ["name": "a"])
          try expectThrows(code) { try context.save() }
        }
      }
      try stack.read { try expectEqual(try $0.number(of: "Tag"), 0) }
    }
    Case("a value of a rule is checked by the model's rules", model: Labels.model) { stack in
      for choice in [MergeChoice<AttributeValue>.sum, .merging { _, _, _ in .string("x") }] {
        let policy = MergePolicy.byProperty([rule("rating", choice)], otherwise: .objectTrumps)
        try expectThrows(.validationFailed) {
          try raceOverTag(stack, policy, first: ["rating": 32_000], second: ["rating": 32_001])
        }
        try stack.write { context in context.delete(try context.one("Tag")) }
      }
    }
    Case("a sum beyond all integers fails the save", model: Labels.model) { stack in
      let policy = MergePolicy.byProperty([rule("plays", .sum)], otherwise: .objectTrumps)
      try expectThrows(.arithmeticOverflow) {
        try raceOverTag(stack, policy, first: ["plays": Int64.max], second: ["plays": Int64.max - 1])
      }
      try expectEqual(try tag(stack, ["plays"]), [.int(.max)])
    }
  }
}
