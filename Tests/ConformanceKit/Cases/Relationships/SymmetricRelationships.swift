import CoherenceCore

extension ConformanceSubject {
  /// Relationships that are their own inverses.
  static let symmetricRelationships = ConformanceSubject("Symmetric relationships") {
    toMany
    toOne
  }

  @CasesBuilder private static var toMany: [Case] {
    Case("a friend of a record has the record as a friend", model: Acquaintances.model) { stack in
      try stack.write { context in
        let people = try Acquaintances.people(context, "a", "b", "c")
        try people[0].setObjects([people[1], people[2]], for: "friends")
        try expectEqual(try Acquaintances.friends(context), ["a: b c", "b: a", "c: a"])
      }
      try stack.reopen()
      try stack.write { context in
        try expectEqual(try Acquaintances.friends(context), ["a: b c", "b: a", "c: a"])
        try expectEqual(
          try context.names("Person", where: try FetchPredicate(format: "ANY friends.name == 'a'")), ["b", "c"])
        try expectEqual(
          try context.names("Person", where: try FetchPredicate(format: "friends.@count == 2")), ["a"])
        try context.one("Person", where: equal("name", "b")).setObjects([], for: "friends")
        try expectEqual(try Acquaintances.friends(context), ["a: c", "b: ", "c: a"])
      }
      try stack.read { try expectEqual(try Acquaintances.friends($0), ["a: c", "b: ", "c: a"]) }
      try stack.write { $0.delete(try $0.one("Person", where: equal("name", "c"))) }
      try stack.read { try expectEqual(try Acquaintances.friends($0), ["a: ", "b: "]) }
    }
    Case("a record can be a friend of itself", model: Acquaintances.model) { stack in
      try stack.write { context in
        let people = try Acquaintances.people(context, "a", "b")
        try people[0].setObjects(people, for: "friends")
        try expectEqual(try Acquaintances.friends(context), ["a: a b", "b: a"])
      }
      try stack.read { try expectEqual(try Acquaintances.friends($0), ["a: a b", "b: a"]) }
      try stack.write { context in
        let own = try context.one("Person", where: equal("name", "a"))
        try own.setObjects(try own.objects(for: "friends").filter { $0 !== own }, for: "friends")
      }
      try stack.read { try expectEqual(try Acquaintances.friends($0), ["a: b", "b: a"]) }
    }
    Case("two contexts make the same friendship from its two sides", model: Acquaintances.model) { stack in
      try stack.write { _ = try Acquaintances.people($0, "a", "b") }
      let contexts = [stack.context(), stack.context()]
      for (context, (own, other)) in zip(contexts, [("a", "b"), ("b", "a")]) {
        try context.performAndWait {
          let friend = try context.one("Person", where: equal("name", other))
          try context.one("Person", where: equal("name", own)).setObjects([friend], for: "friends")
        }
      }
      for context in contexts { try context.performAndWait { try context.save() } }
      try stack.read { try expectEqual(try Acquaintances.friends($0), ["a: b", "b: a"]) }
      try stack.write { try $0.one("Person", where: equal("name", "b")).setObjects([], for: "friends") }
      try stack.read { try expectEqual(try Acquaintances.friends($0), ["a: ", "b: "]) }
    }
  }

  @CasesBuilder private static var toOne: [Case] {
    Case("a spouse of a record has the record as a spouse, and a new spouse frees both", model: Acquaintances.model) {
      stack in
      try stack.write { context in
        let people = try Acquaintances.people(context, "a", "b", "c", "d")
        try people[0].setObject(people[1], for: "spouse")
        try people[2].setObject(people[3], for: "spouse")
      }
      try stack.reopen()
      try stack.write { context in
        try expectEqual(try Acquaintances.spouses(context), ["a: b", "b: a", "c: d", "d: c"])
        let third = try context.one("Person", where: equal("name", "c"))
        try context.one("Person", where: equal("name", "a")).setObject(third, for: "spouse")
        try expectEqual(try Acquaintances.spouses(context), ["a: c", "b: ", "c: a", "d: "])
      }
      try stack.read { context in
        try expectEqual(try Acquaintances.spouses(context), ["a: c", "b: ", "c: a", "d: "])
        try expectEqual(
          try context.names("Person", where: try FetchPredicate(format: "spouse.spouse.name == 'a'")), ["a"])
      }
      try stack.write { $0.delete(try $0.one("Person", where: equal("name", "a"))) }
      try stack.read { try expectEqual(try Acquaintances.spouses($0), ["b: ", "c: ", "d: "]) }
    }
  }
}
