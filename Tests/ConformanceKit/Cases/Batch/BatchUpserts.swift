import CoherenceCore
import Foundation

extension ConformanceSubject {
  static let batchUpserts = ConformanceSubject("Batch upserts") {
    keys
    otherConstraints
    derivedValues
    liveObjects
    inheritance
    participants
    otherWriters
  }

  private static func upsert(
    _ rows: [[String: AttributeValue]], by names: [String], entity: String = "Seat"
  ) -> BatchInsertRequest {
    BatchInsertRequest(entityName: entity, rows: rows, onDuplicate: .update(by: names))
  }

  private static func seat(_ row: String?, _ place: Int64?, _ name: String) -> [String: AttributeValue] {
    [
      "row": row.map(AttributeValue.string) ?? .null, "place": place.map(AttributeValue.int) ?? .null,
      "name": .string(name),
    ]
  }

  private static func number(_ place: Int64, _ number: Int64) -> [String: AttributeValue] {
    ["row": .string("A"), "place": .int(place), "number": .int(number)]
  }

  @CasesBuilder private static var keys: [Case] {
    withAndWithoutOptionalParts(
      "a key of several attributes is met as a whole, and a missing part meets nothing", model: Venues.model
    ) { stack in
      try stack.write { context in
        for (row, place) in [("A", 1), ("A", 2), ("B", 1)] {
          try context.make("Seat", ["row": row, "place": place, "name": "old"])
        }
      }
      try stack.read { context in
        let rows = [
          seat("A", 1, "new"), seat("A", nil, "x"), seat("A", nil, "x"), seat(nil, 1, "x"), seat("B", 2, "fresh"),
          seat("A", 1, "newer"),
        ]
        let result = try context.execute(upsert(rows, by: ["place", "row"]))
        try expectEqual([result.inserted.count, result.updated.count], [4, 1])
        let again = try context.execute(upsert(rows, by: ["row", "place"]))
        try expectEqual([again.inserted.count, again.updated.count], [3, 0])
      }
      try stack.read { context in
        try expectEqual(
          try context.names("Seat", where: equal("row", "A") && compare("place", .notEqual, nil)), ["newer", "old"])
        try expectEqual(try context.number(of: "Seat", where: equal("name", "x")), 6)
      }
    }
    withAndWithoutOptionalParts(
      "texts of a key differ by their bytes, and decimals by their values", model: Venues.model
    ) { stack in
      try stack.read { context in
        let rows = ["\u{E9}", "e\u{301}", "E\u{301}"].map { seat($0, 1, $0) }
        try expectEqual(try context.execute(upsert(rows, by: ["row", "place"])).inserted.count, 3)
        try expectEqual(try context.execute(upsert(rows, by: ["row", "place"])).updated, [])
        func codes(_ texts: String...) throws -> BatchInsertResult {
          let rows = texts.map {
            ["name": .string($0), Venues.code: .decimal(decimal($0))] as [String: AttributeValue]
          }
          return try context.execute(upsert(rows, by: [Venues.code]))
        }
        try expectEqual(try codes("1.5", "-1.5").inserted.count, 2)
        let equal = try codes("1.50", "1.500", "2")
        try expectEqual([equal.inserted.count, equal.updated.count], [1, 1])
      }
      try stack.read { context in
        try expectEqual(
          try context.names("Seat", where: compare(Venues.code, .notEqual, nil)), ["-1.5", "1.500", "2"])
      }
    }
    withAndWithoutOptionalParts(
      "upserts of more rows than one statement takes values find every duplicate", model: Venues.model
    ) { stack in
      try stack.read { context in
        let rows = (0..<9_000).map { seat("\($0 % 3)", Int64($0), "a") }
        try expectEqual(try context.execute(upsert(rows, by: ["row", "place"])).inserted.count, 9_000)
        var changed = rows
        for index in stride(from: 0, to: 9_000, by: 100) { changed[index]["name"] = .string("b") }
        changed.append(seat("x", 1, "c"))
        let result = try context.execute(upsert(changed, by: ["row", "place"]))
        try expectEqual([result.inserted.count, result.updated.count], [1, 90])
      }
    }
    withAndWithoutOptionalParts(
      "an upsert changes the chosen properties of a duplicate alone, and inserts the values of all properties",
      model: Venues.model
    ) { stack in
      func seat(_ place: Int64, _ name: String, _ number: Int64) -> [String: AttributeValue] {
        ["row": .string("A"), "place": .int(place), "name": .string(name), "number": .int(number)]
      }
      func values(_ place: Int) throws -> [AttributeValue] {
        try stack.read { context in
          let found = try context.one("Seat", where: equal("place", place))
          return [try found.value(for: "name"), try found.value(for: "nameFold"), try found.value(for: "number")]
        }
      }
      try stack.write { try $0.make("Seat", ["row": "A", "place": 1, "name": "Old", "number": 1]) }
      try stack.read { context in
        var request = upsert([seat(1, "New", 7), seat(2, "Fresh", 8)], by: ["row", "place"])
        request.propertiesToUpdate = ["name"]
        let result = try context.execute(request)
        try expectEqual([result.inserted.count, result.updated.count], [1, 1])
        let again = try context.execute(request)
        try expectEqual([again.inserted.count, again.updated.count], [0, 0])
      }
      try expectEqual(try values(1), [.string("New"), .string("new"), .int(1)])
      try expectEqual(try values(2), [.string("Fresh"), .string("fresh"), .int(8)])
      try stack.read { context in
        var request = upsert([seat(1, "Other", 9), seat(3, "Third", 10)], by: ["row", "place"])
        request.propertiesToUpdate = []
        let result = try context.execute(request)
        try expectEqual([result.inserted.count, result.updated.count], [1, 0])
        request.propertiesToUpdate = ["nonsense"]
        try expectThrows(.unknownProperty) { try context.execute(request) }
      }
      try expectEqual(try values(1), [.string("New"), .string("new"), .int(1)])
    }
    Case("Core reads the duplicates of an upsert alone, for a store without upserts", model: Venues.model) { stack in
      let interposition = try stack.interpose()
      try stack.read { context in
        _ = try context.execute(
          BatchInsertRequest(entityName: "Seat", rows: (0..<9_000).map { ["number": AttributeValue.int($0)] }))
        let rows = (0..<4_500).map { ["number": .int($0), "name": .string("a")] as [String: AttributeValue] }
        let before = interposition.rowCount
        _ = try context.one("Seat", where: equal("number", 0))
        // A store that leaves predicates to Core returns all records for each read.
        guard interposition.rowCount - before <= 1 else { return }
        let known = interposition.rowCount
        try expectEqual(try context.execute(upsert(rows, by: ["number"])).updated.count, 4_500)
        try expectEqual(interposition.rowCount - known, 4_500)
      }
    }
    Case("Core reads few records beside the duplicates of an upsert by two attributes", model: Venues.model) { stack in
      let interposition = try stack.interpose()
      try stack.read { context in
        // All places of 60 rows, each after a distant one.
        let seats = (0..<3_600).map { index in
          let number = index * 1_009 % 3_600
          return ["row": .string("\(number / 60)"), "place": .int(Int64(number % 60))] as [String: AttributeValue]
        }
        try expectEqual(try context.execute(upsert(seats, by: ["row", "place"])).inserted.count, 3_600)
        let before = interposition.rowCount
        _ = try context.one("Seat", where: .and([equal("place", 1), equal("row", "1")]))
        // A store that leaves predicates to Core returns all records for each read.
        guard interposition.rowCount - before <= 1 else { return }
        let known = interposition.rowCount
        let changed = seats.map { $0.merging(["name": .string("a")]) { $1 } }
        try expectEqual(try context.execute(upsert(changed, by: ["row", "place"])).updated.count, 3_600)
        try expect(interposition.rowCount - known < 4_500, "one read for the duplicates of each record")
      }
    }
  }

  @CasesBuilder private static var otherConstraints: [Case] {
    withAndWithoutOptionalParts(
      "an upsert exchanges the values of another constraint between records", model: Venues.model
    ) { stack in
      try stack.read { context in
        try context.execute(upsert([number(1, 1), number(2, 2), number(3, 3)], by: ["row", "place"]))
        let result = try context.execute(upsert([number(1, 2), number(2, 3), number(3, 1)], by: ["row", "place"]))
        try expectEqual([result.inserted.count, result.updated.count], [0, 3])
      }
      try stack.read { context in
        let seats = try context.all("Seat", sort: [SortKey("place")])
        try expectEqual(try seats.map { try $0.value(for: "number") }, [2, 3, 1].map(AttributeValue.int))
        try expectEqual(seats.map(\.version), [2, 2, 2])
      }
    }
    withAndWithoutOptionalParts(
      "an upsert that violates another constraint changes neither the store nor a context", model: Venues.model
    ) { stack in
      try stack.read { context in
        try context.execute(upsert([number(1, 1), number(2, 2)], by: ["row", "place"]))
        let seat = try context.one("Seat", where: equal("place", 2))
        try expectEqual(try seat.value(for: "number"), .int(2))
        let error = try expectThrows(.uniquenessViolated) {
          try context.execute(upsert([number(2, 7), number(3, 8), number(4, 1)], by: ["row", "place"]))
        }
        try expectEqual(error.outcome, .notApplied)
        try expectEqual(try seat.value(for: "number"), .int(2))
        try expect(!context.hasChanges, "nothing to save")
        try expectEqual(try context.number(of: "Seat"), 2)
      }
      try stack.read { try expectEqual(try $0.one("Seat", where: equal("place", 2)).version, 1) }
    }
    Case("a batch insert with a used value of another constraint is tried again twice", model: Venues.model) { stack in
      let interposition = try stack.interpose()
      try stack.read { context in
        try context.execute(upsert([number(1, 1), number(2, 2)], by: ["row", "place"]))
        let saves = interposition.saveCount
        try expectThrows(.uniquenessViolated) {
          try context.execute(upsert([number(2, 7), number(3, 8), number(4, 1)], by: ["row", "place"]))
        }
        try expectEqual(interposition.saveCount - saves, 3, "the number of saves")
        // Without a treatment of duplicates, no further attempt finds one.
        try expectThrows(.uniquenessViolated) {
          try context.execute(BatchInsertRequest(entityName: "Seat", rows: [number(4, 1)]))
        }
        try expectEqual(interposition.saveCount - saves, 4, "the number of saves")
      }
    }
  }

  @CasesBuilder private static var derivedValues: [Case] {
    withAndWithoutOptionalParts(
      "an upsert computes derived values, and leaves those of records without a difference", model: Venues.model
    ) { stack in
      try stack.read { context in
        let rows = [seat("A", 1, "\u{C9}A"), seat("A", 2, "b")]
        try context.execute(upsert(rows, by: ["row", "place"]))
      }
      func values(_ name: String) throws -> [AttributeValue] {
        try stack.read { try $0.all("Seat", sort: [SortKey("place")]).map { try $0.value(for: name) } }
      }
      let times = try values("savedAt")
      try expectEqual(try values("nameFold"), ["ea", "b"].map(AttributeValue.string))
      try expect(times.allSatisfy { !$0.isNull }, "the time of the insert")
      try stack.read { context in
        let rows = [seat("A", 1, "\u{C9}A"), seat("A", 2, "\u{D6}")]
        try expectEqual(try context.execute(upsert(rows, by: ["row", "place"])).updated.count, 1)
      }
      try expectEqual(try values("nameFold"), ["ea", "o"].map(AttributeValue.string))
      try expectEqual(try values("savedAt")[0], times[0])
      try expect(try values("savedAt")[1].order(to: times[1]) > 0, "a later time")
    }
  }

  @CasesBuilder private static var liveObjects: [Case] {
    withAndWithoutOptionalParts(
      "unsaved values of an object stay beside those that an upsert brings", model: Venues.model
    ) { stack in
      try stack.write { try $0.make("Seat", ["row": "A", "place": 1, "name": "old"]) }
      try stack.read { context in
        let seat = try context.one("Seat")
        try seat.setValue("mine", for: "name")
        try context.execute(upsert([number(1, 5)], by: ["row", "place"]))
        try expectEqual(try ["name", "number"].map { try seat.value(for: $0) }, [.string("mine"), .int(5)])
        try context.save()
      }
      try stack.read { context in
        let seat = try context.one("Seat")
        try expectEqual(try ["name", "number"].map { try seat.value(for: $0) }, [.string("mine"), .int(5)])
        try expectEqual(seat.version, 3)
      }
    }
    withAndWithoutOptionalParts(
      "an upsert by a child context is shown in the child and in its parent", model: Venues.model
    ) { stack in
      try stack.write { try $0.make("Seat", ["row": "A", "place": 1, "name": "old"]) }
      let parent = stack.context()
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
      let shown = try parent.performAndWait {
        let shown = try parent.one("Seat")
        try expectEqual(try shown.label, "old")
        return shown
      }
      try child.performAndWait {
        let seat = try child.one("Seat")
        try expectEqual(try seat.label, "old")
        try child.execute(upsert([Self.seat("A", 1, "new"), Self.seat("A", 2, "fresh")], by: ["row", "place"]))
        try expectEqual(try seat.label, "new")
        try expectEqual(try child.number(of: "Seat"), 2)
      }
      try parent.performAndWait {
        try expectEqual(try shown.label, "new")
        try expectEqual(try parent.number(of: "Seat"), 2)
      }
    }
    Case("batch requests to a store that only reads are refused", model: Venues.model) { stack in
      try stack.write { try $0.make("Seat", ["row": "A", "place": 1, "name": "old"]) }
      try stack.reopen(options: [StoreOption.readOnly: true])
      try stack.read { context in
        _ = try expectThrows(.storeReadOnly) { try context.execute(upsert([seat("A", 1, "x")], by: ["row", "place"])) }
        _ = try expectThrows(.storeReadOnly) {
          try context.execute(BatchInsertRequest(entityName: "Seat", rows: [seat("A", 2, "x")]))
        }
        for expression: UpdateExpression in [.attribute("place"), .sum(.attribute("place"), .value(.int(1)))] {
          _ = try expectThrows(.storeReadOnly) {
            try context.execute(BatchUpdateRequest(entityName: "Seat", expressions: ["place": expression]))
          }
        }
        try expectEqual(try context.one("Seat").label, "old")
      }
    }
  }

  @CasesBuilder private static var inheritance: [Case] {
    withAndWithoutOptionalParts(
      "an upsert changes records of its own entity, and refuses the key of a relative", model: Venues.model
    ) { stack in
      try stack.write { context in
        try context.make("Member", ["name": "old", "email": "m"])
        try context.make("Visitor", ["name": "old", "email": "v"])
        try context.make("Guest", ["name": "old", "email": "g"])
      }
      func row(_ email: String) -> [String: AttributeValue] { ["name": .string("new"), "email": .string(email)] }
      try stack.read { context in
        let result = try context.execute(upsert([row("m"), row("n")], by: ["email"], entity: "Member"))
        try expectEqual([result.inserted.count, result.updated.count], [1, 1])
        for email in ["v", "g"] {
          _ = try expectThrows(.uniquenessViolated) {
            try context.execute(upsert([row("o"), row(email)], by: ["email"], entity: "Member"))
          }
        }
        let rest = BatchInsertRequest(
          entityName: "Member", rows: ["v", "g", "m", "p"].map(row), onDuplicate: .ignore(by: "email"))
        try expectEqual(try context.execute(rest).inserted.count, 1)
      }
      try stack.read { context in
        try expectEqual(try context.names("Member"), ["new", "new", "new"])
        try expectEqual(try context.one("Visitor").version, 1)
        try expectEqual(try context.number(of: "Guest"), 5)
      }
    }
  }

  @CasesBuilder private static var participants: [Case] {
    withAndWithoutOptionalParts(
      "a participant is shown the records that an upsert inserts and changes", model: Venues.model
    ) { stack in
      try stack.write { context in
        for (place, name) in [(1, "same"), (2, "old")] {
          try context.make("Seat", ["row": "A", "place": place, "name": name])
        }
      }
      let keeper = TrailKeeper(of: "Seat")
      stack.coordinator.addSaveParticipant(keeper)
      try stack.read { context in
        let rows = [seat("A", 1, "same"), seat("A", 2, "new"), seat("A", 3, "fresh")]
        let result = try context.execute(upsert(rows, by: ["row", "place"]))
        try expectEqual([result.inserted.count, result.updated.count], [1, 1])
        try expectEqual(keeper.changes.map(\.kind), [.inserted, .updated])
        try expectEqual(keeper.changes.map(\.id), result.inserted + result.updated)
        let slot = try unwrap(keeper.changes[1].entity.attribute(named: "name")).slot
        try expectEqual(keeper.changes[1].base?[slot], .string("old"))
        try expectEqual(keeper.changes[1].row?[slot], .string("new"))
        try expectEqual(try context.number(of: "Trail"), 2)
        _ = try context.execute(upsert(rows, by: ["row", "place"]))
        try expectEqual(try context.number(of: "Trail"), 2)
        try expectEqual(try context.all("Seat", sort: [SortKey("place")]).map(\.version), [1, 2, 1])
      }
    }
    withAndWithoutOptionalParts("an upsert that a participant refuses changes nothing", model: Venues.model) { stack in
      try stack.write { try $0.make("Seat", ["row": "A", "place": 1, "name": "old"]) }
      stack.coordinator.addSaveParticipant(
        TrailKeeper(of: "Seat") { _ in throw CoherenceError(.deleteDenied, "The participant refuses the save.") })
      try stack.read { context in
        _ = try expectThrows(.deleteDenied) {
          try context.execute(upsert([seat("A", 1, "new"), seat("A", 2, "new")], by: ["row", "place"]))
        }
        try expectEqual(try context.names("Seat"), ["old"])
        try expectEqual(try context.number(of: "Trail"), 0)
      }
    }
  }

  @CasesBuilder private static var otherWriters: [Case] {
    Case("an upsert follows another writer that inserts one duplicate after the other", model: Venues.model) { stack in
      let interposition = try stack.interpose()
      let other = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: try stack.anotherCoordinator())
      let numbers = NumberedDuplicates()
      interposition.beforeSave { _ in
        guard let number = numbers.next(upTo: 6) else { return }
        try other.performAndWait {
          try other.make("Seat", ["number": number, "name": "theirs"])
          try other.save()
        }
      }
      try stack.read { context in
        let rows = (1...8).map { ["number": .int($0), "name": .string("mine")] as [String: AttributeValue] }
        let result = try context.execute(upsert(rows, by: ["number"]))
        try expectEqual([result.inserted.count, result.updated.count], [2, 6])
        try expectEqual(try context.number(of: "Seat", where: equal("name", "mine")), 8)
      }
    }
  }
}
