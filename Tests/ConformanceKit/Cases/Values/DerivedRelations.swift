import CoherenceCore
import Foundation

/// Attributes derived from other records. Every read after a save returns their new values.
extension ConformanceSubject {
  static let derivedRelations = ConformanceSubject("Derived from other records") {
    derivedMembers
    derivedPaths
    derivedLinks
    derivedRules
    derivedUses
    derivedSums
    derivedRelationBatches
    derivedWriters
    derivedAtRandom
  }

  /// A case on the store, and the same case on a store whose derived values Core computes.
  static func deriving(
    _ name: String, model: ManagedObjectModel = Charts.model,
    _ run: @escaping @Sendable (ConformanceStack) async throws -> Void
  ) -> [Case] {
    withAndWithoutOptionalParts(name, model: model, run)
  }

  // MARK: Fixtures

  static func checkDerived(_ stack: ConformanceStack) throws {
    try stack.read { context in
      if let difference = try ChartFacts.difference(in: context) { throw ConformanceFailure(difference) }
    }
  }

  static func record(_ context: ManagedObjectContext, _ name: String = "A") throws -> ManagedObject {
    try context.one("Record", where: equal("name", name))
  }

  @discardableResult
  static func addSong(
    _ name: String, _ length: Int32? = nil, to record: ManagedObject?, _ context: ManagedObjectContext
  ) throws -> ManagedObject {
    let song = try context.make("Song", ["name": name])
    try song.setValue(length, for: "length")
    try song.setObject(record, for: "record")
    return song
  }

  /// A record with songs of some lengths, by a singer "S".
  static func fill(_ stack: ConformanceStack, _ lengths: [Int32] = [2, 3], record: String = "A") throws {
    try stack.write { context in
      let owner = try context.make("Record", ["name": record])
      let singers = try context.all("Singer")
      try owner.setObject(try singers.first ?? context.make("Singer", ["name": "S"]), for: "singer")
      for length in lengths { try addSong("\(record)\(length)", length, to: owner, context) }
    }
  }

  static func song(_ context: ManagedObjectContext, _ name: String) throws -> ManagedObject {
    try context.one("Song", where: equal("name", name))
  }

  static func expectValue(
    _ object: ManagedObject, _ name: String, _ value: (any AttributeConvertible)?, file: StaticString = #fileID,
    line: UInt = #line
  ) throws {
    try expectEqual(
      try object.value(for: name), value?.attributeValue ?? .null, "'\(name)'", file: file, line: line)
  }

  // MARK: Members

  @CasesBuilder private static var derivedMembers: [Case] {
    deriving("counts and sums of members follow inserts, changes, moves and deletes of members") { stack in
      try fill(stack)
      try fill(stack, [10], record: "B")
      try checkDerived(stack)
      try stack.write { try addSong("new", 5, to: try record($0), $0) }
      try checkDerived(stack)
      try stack.write { try song($0, "A2").setValue(20, for: "length") }
      try checkDerived(stack)
      try stack.write { try song($0, "A3").setObject(try record($0, "B"), for: "record") }
      try checkDerived(stack)
      try stack.write { try song($0, "B10").setObject(nil, for: "record") }
      try checkDerived(stack)
      try stack.write { context in
        context.delete(try song(context, "A2"))
        try song(context, "new").setValue(nil, for: "length")
        try song(context, "A3").setValue(Decimal(string: "0.1"), for: "price")
      }
      try checkDerived(stack)
      try stack.read { context in
        let record = try record(context)
        try expectValue(record, "songCount", 1)
        try expectValue(record, "length", 0)
        try expectValue(record, "longest", Int32?.none)
        try expectValue(record, "mean", Double?.none)
        try expectValue(try self.record(context, "B"), "price", Decimal(string: "0.1"))
      }
      try stack.reopen()
      try checkDerived(stack)
    }
    deriving("an owner without members counts none before and after its first save") { stack in
      try stack.write { context in
        let record = try context.make("Record", ["name": "A"])
        try expectValue(record, "songCount", Int?.none)
        try context.save()
        try expectValue(record, "songCount", 0)
        try expectValue(record, "length", 0)
        try expectValue(record, "price", Decimal(0))
        try expectValue(record, "longest", Int32?.none)
        try expectEqual(record.version, 1)
      }
      try checkDerived(stack)
    }
    deriving("the objects of the saving context and of its followers show derived values after a save") { stack in
      try fill(stack)
      let follower = stack.context()
      try stack.read { context in
        let owner = try record(context)
        try follower.performAndWait { try expectValue(try record(follower), "songCount", 2) }
        follower.follow(context)
        try addSong("new", 4, to: owner, context)
        try expectValue(owner, "songCount", 2)
        try context.save()
        try expectValue(owner, "songCount", 3)
        try expectValue(owner, "length", 9)
        try expect(!context.hasChanges, "nothing to save")
        try follower.performAndWait { try expectValue(try record(follower), "songCount", 3) }
        try owner.setValue("renamed", for: "name")
        try context.save()
        try expectValue(owner, "songCount", 3)
      }
      try checkDerived(stack)
    }
    deriving("a save of a child context computes nothing, and the parent's save computes derived values") { stack in
      try fill(stack)
      let parent = stack.context()
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
      try parent.performAndWait {
        try child.performAndWait {
          let owner = try record(child)
          try addSong("new", 7, to: owner, child)
          try child.save()
          try expectValue(owner, "songCount", 2)
        }
        try expectValue(try record(parent), "songCount", 2)
        try parent.save()
        try expectValue(try record(parent), "songCount", 3)
      }
      try checkDerived(stack)
    }
    deriving("a failed save leaves values derived from members as they were") { stack in
      try fill(stack)
      try stack.read { context in
        let owner = try record(context)
        try owner.setValue("x", for: "code")
        try stack.write { try $0.make("Record", ["name": "B", "code": "x"]) }
        try addSong("new", 7, to: owner, context)
        let fresh = try context.make("Record", ["name": "C"])
        try expectThrows(.uniquenessViolated) { try context.save() }
        try expectValue(owner, "songCount", 2)
        try expectValue(fresh, "songCount", Int?.none)
        context.rollback()
      }
      try checkDerived(stack)
    }
  }

  // MARK: Paths

  @CasesBuilder private static var derivedPaths: [Case] {
    deriving("values of a path follow changes along the path and at its end") { stack in
      try fill(stack)
      try checkDerived(stack)
      try stack.write { try $0.one("Singer").setValue("Él", for: "name") }
      try checkDerived(stack)
      try stack.read { context in
        try expectValue(try record(context), "singerFold", "el")
        try expectEqual(try context.names("Song", where: equal("singerName", "Él")), ["A2", "A3"])
      }
      try stack.write { context in
        try record(context).setObject(try context.make("Singer", ["name": "T"]), for: "singer")
      }
      try checkDerived(stack)
      try stack.write { context in
        let other = try context.make("Record", ["name": "B"])
        try other.setObject(try context.one("Singer", where: equal("name", "Él")), for: "singer")
        try song(context, "A2").setObject(other, for: "record")
      }
      try checkDerived(stack)
      try stack.write { context in context.delete(try context.one("Singer", where: equal("name", "T"))) }
      try checkDerived(stack)
      try stack.read { try expectValue(try song($0, "A3"), "singerName", String?.none) }
    }
    deriving("a path over a deleted record has no value, also where the reference stays") { stack in
      try stack.write { context in
        let original = try context.make("Song", ["name": "first"])
        try context.make("Song", ["name": "cover"]).setObject(original, for: "original")
      }
      try stack.read { try expectValue(try song($0, "cover"), "originalName", "first") }
      try stack.write { $0.delete(try song($0, "first")) }
      try stack.read { try expectValue(try song($0, "cover"), "originalName", String?.none) }
    }
    deriving("records that lead to each other are saved with the values of one another") { stack in
      try stack.write { context in
        let (one, two) = (try context.make("Song", ["name": "one"]), try context.make("Song", ["name": "two"]))
        try one.setObject(two, for: "original")
        try two.setObject(one, for: "original")
      }
      try checkDerived(stack)
      try stack.write { try song($0, "one").setValue("uno", for: "name") }
      try checkDerived(stack)
    }
  }

  // MARK: Links

  @CasesBuilder private static var derivedLinks: [Case] {
    deriving("counts and sums of linked members follow links made from either side, and the members' values") { stack in
      try fill(stack)
      try fill(stack, [], record: "B")
      try stack.write { context in
        let label = try context.make("Label", ["name": "L"])
        try label.setObjects(try context.all("Record"), for: "records")
        try record(context).setObjects(
          [label, try context.make("Label", ["name": "M", "weight": 0.5])], for: "labels")
      }
      try checkDerived(stack)
      try stack.write { try $0.one("Label", where: equal("name", "L")).setValue(4.0, for: "weight") }
      try checkDerived(stack)
      try stack.write { context in
        try context.one("Label", where: equal("name", "L")).setObjects([try record(context, "B")], for: "records")
      }
      try checkDerived(stack)
      try stack.write { context in context.delete(try context.one("Label", where: equal("name", "L"))) }
      try checkDerived(stack)
      try stack.read { context in
        try expectValue(try record(context), "labelWeight", 0.5)
        try expectValue(try record(context, "B"), "labelCount", 0)
      }
    }
    deriving("a count over a relationship without an inverse follows its members") { stack in
      try fill(stack)
      try stack.write { context in
        try record(context).setObjects(try context.all("Singer") + [context.make("Singer")], for: "guests")
      }
      try checkDerived(stack)
      try stack.write { context in context.delete(try context.one("Singer", where: equal("name", "S"))) }
      try checkDerived(stack)
      try stack.read { try expectValue(try record($0), "guestCount", 1) }
    }
  }

  // MARK: Delete rules and inheritance

  @CasesBuilder private static var derivedRules: [Case] {
    deriving("delete rules keep derived values right") { stack in
      try fill(stack)
      try fill(stack, [8], record: "B")
      // Cascades to the songs, and is taken from the singer's count.
      try stack.write { $0.delete(try record($0)) }
      try checkDerived(stack)
      try stack.read { context in
        try expectValue(try context.one("Singer"), "recordCount", 1)
        try expectEqual(try context.names("Song"), ["B8"])
      }
      try stack.write { $0.delete(try $0.one("Singer")) }
      try checkDerived(stack)
    }
    deriving("a subentity derives its own values and those that it inherits") { stack in
      try stack.write { context in
        let live = try context.make("LiveRecord", ["name": "A"])
        let songs = try (1...3).map { try addSong("A\($0)", Int32($0), to: live, context) }
        try live.setObjects(songs.reversed(), for: "encores")
      }
      try checkDerived(stack)
      try stack.write { context in
        let live = try record(context)
        try expectValue(live, "encoreCount", 3)
        try live.setObjects(Array(try live.objects(for: "encores").dropFirst()), for: "encores")
        context.delete(try song(context, "A1"))
      }
      try checkDerived(stack)
      try stack.read { context in
        let live = try record(context)
        try expectValue(live, "encoreCount", 1)
        try expectEqual(try live.labels(of: "encores"), ["A2"])
      }
    }
  }

  // MARK: Uses

  @CasesBuilder private static var derivedUses: [Case] {
    deriving("derived values are found, sorted and aggregated in the store") { stack in
      try fill(stack, [1], record: "A")
      try fill(stack, [1, 2, 3], record: "B")
      try fill(stack, [], record: "C")
      try stack.read { context in
        try expectEqual(try context.names("Record", where: compare("songCount", .greaterOrEqual, 1)), ["A", "B"])
        try expectEqual(try context.names("Record", sort: [SortKey("songCount", .reverse)]), ["B", "A", "C"])
        try expectEqual(try context.number(of: "Song", where: compare("record.length", .greater, 5)), 3)
        try expectEqual(try context.table(aggregate("Record", [.sum(of: "songCount")])), ["4"])
      }
    }
    deriving("a live result by derived values shows what saves of members change in them") { stack in
      let list = try FollowedList(
        FetchRequest(entityName: "Record").filter(compare("songCount", .greater, 0))
          .sort("songCount", .reverse), in: stack.context())
      try fill(stack, [1, 2], record: "A")
      try fill(stack, [1], record: "B")
      try fill(stack, [], record: "C")
      try list.expectTitles(["A", "B"])
      try stack.write { context in
        for length in 5...7 { try addSong("new", Int32(length), to: try record(context, "C"), context) }
      }
      try list.expectTitles(["C", "A", "B"])
      try stack.read { try $0.execute(BatchDeleteRequest(entityName: "Song", predicate: equal("name", "B1"))) }
      try list.expectTitles(["C", "A"])
    }
    deriving("a derived value cannot be assigned, and the message says what it follows from") { stack in
      try fill(stack)
      try stack.read { context in
        let error = try expectThrows(.invalidValue) { try record(context).setValue(9, for: "songCount") }
        try expect(error.message.contains("'songs'"), "the message to name the members: \(error.message)")
      }
    }
    deriving("a save whose sum is out of range is refused, and changes nothing", model: overflowModel) { stack in
      try stack.write { context in
        let box = try context.make("Box")
        try context.make("Part", ["size": Int64.max]).setObject(box, for: "box")
      }
      try stack.read { context in
        try context.make("Part", ["size": 1]).setObject(try context.one("Box"), for: "box")
        let error = try expectThrows(.arithmeticOverflow) { try context.save() }
        try expect(error.message.contains("Box.total"), "the message to name the attribute: \(error.message)")
        context.rollback()
        try expectEqual(try context.number(of: "Part"), 1)
      }
    }
    deriving(
      "a save whose sum of decimals has too many digits is refused, and changes nothing", model: overflowModel
    ) { stack in
      let (long, half) = ("12345678901234567890123456789012345678", "0.5")
      try stack.write { context in
        let box = try context.make("Box")
        try context.make("Part", ["size": 1, "price": try unwrap(Decimal(string: long))]).setObject(box, for: "box")
      }
      try stack.read { context in
        let part = try context.make("Part", ["size": 1, "price": try unwrap(Decimal(string: half))])
        try part.setObject(try context.one("Box"), for: "box")
        let error = try expectThrows(.arithmeticOverflow) { try context.save() }
        try expect(error.message.contains("Box.worth"), "the message to name the attribute: \(error.message)")
        context.rollback()
        try expectEqual(try context.number(of: "Part"), 1)
      }
    }
  }

  private static let overflowModel = soundModel {
    Entity("Box") {
      Attribute("total", .int64, derived: .sum("parts.size"))
      Attribute("worth", .decimal, derived: .sum("parts.price"))
      Relationship("parts", toMany: "Part", inverse: "box")
    }
    Entity("Part") {
      Attribute("size", .int64)
      Attribute("price", .decimal, default: Decimal(0))
      Relationship("box", toOne: "Box", inverse: "parts")
    }
  }
}
