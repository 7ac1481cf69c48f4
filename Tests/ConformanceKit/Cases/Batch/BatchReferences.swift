import CoherenceCore

extension ConformanceSubject {
  static let batchReferences = ConformanceSubject("References of batch inserts") {
    targets
    lists
  }

  /// A batch insert that refuses duplicates, and one that updates them.
  private static func requests(_ row: [String: AttributeValue], entity: String = "Seat") -> [BatchInsertRequest] {
    let key: BatchInsertRequest.DuplicatePolicy = .update(by: "number")
    return [.fail, key].map { BatchInsertRequest(entityName: entity, rows: [row], onDuplicate: $0) }
  }

  @CasesBuilder private static var targets: [Case] {
    withAndWithoutOptionalParts(
      "a batch insert takes the identifier that an object had before its save", model: Venues.model
    ) { stack in
      try stack.read { context in
        let venue = try context.make("Venue", ["name": "v"])
        let early = venue.objectID
        for request in requests(["number": .int(1), "venue": .reference(early)]) {
          _ = try expectThrows(.wrongType) { try context.execute(request) }
        }
        try context.save()
        for (index, request) in requests(["number": .int(1), "venue": .reference(early)]).enumerated() {
          try expectEqual(try context.execute(request).inserted.count, 1 - index)
        }
        try expectEqual(try venue.objects(for: "seats").count, 1)
      }
    }
    withAndWithoutOptionalParts(
      "a batch insert refuses a record of an entity that the relationship does not lead to", model: Venues.model
    ) { stack in
      try stack.write { context in
        for (entity, email) in [("Member", "m"), ("Visitor", "v"), ("Guest", "g")] {
          try context.make(entity, ["name": entity, "email": email])
        }
      }
      try stack.read { context in
        for email in ["v", "g"] {
          let guest = try context.one("Guest", where: equal("email", email))
          for request in requests(["number": .int(1), "holder": .reference(guest.objectID)]) {
            let error = try expectThrows(.wrongType) { try context.execute(request) }
            try expect(error.message.contains("Seat.holder"), "the property in '\(error.message)'")
          }
        }
        try expectEqual(try context.number(of: "Seat"), 0)
        let member = try context.one("Member")
        for request in requests(["number": .int(1), "holder": .reference(member.objectID)]) {
          guard request.duplicatePolicy != .fail else { continue }
          try expectEqual(try context.execute(request).inserted.count, 1)
        }
        try expectEqual(try context.one("Seat").object(for: "holder")?.entity.name, "Member")
      }
    }
    Case("a batch insert refuses a one-to-one relationship, whose other side it would not set", model: Venues.model) {
      stack in
      try stack.write { context in
        try context.make("Badge", ["name": "b"])
        try context.make("Seat", ["number": 1])
      }
      try stack.read { context in
        let (badge, seat) = (try context.one("Badge").objectID, try context.one("Seat").objectID)
        let rows: [(String, String, [String: AttributeValue])] = [
          ("Seat", "badge", ["number": .int(2), "badge": .reference(badge)]),
          ("Badge", "seat", ["name": .string("c"), "seat": .reference(seat)]),
        ]
        for (entity, name, row) in rows {
          let error = try expectThrows(.wrongType) {
            try context.execute(BatchInsertRequest(entityName: entity, rows: [row]))
          }
          try expect(error.message.contains("\(entity).\(name)"), "the property in '\(error.message)'")
        }
        try expectEqual(try [context.number(of: "Badge"), context.number(of: "Seat")], [1, 1])
      }
    }
  }

  @CasesBuilder private static var lists: [Case] {
    withAndWithoutOptionalParts(
      "a record that an upsert moves to another list comes before the list's members", model: Venues.model
    ) { stack in
      try stack.write { context in
        for (name, members) in [("one", ["a", "b", "c"]), ("two", ["d", "e"])] {
          let seats = try members.map { try context.make("Seat", ["row": $0, "place": 1, "name": $0]) }
          try context.make("Venue", ["name": name]).setObjects(seats, for: "seats")
        }
      }
      func labels(_ name: String) throws -> [String] {
        try stack.read { try $0.one("Venue", where: equal("name", name)).labels(of: "seats") }
      }
      try stack.read { context in
        let two = try context.one("Venue", where: equal("name", "two")).objectID
        let rows = ["c", "e"].map { row in
          ["row": .string(row), "place": .int(1), "venue": .reference(two)] as [String: AttributeValue]
        }
        let request = BatchInsertRequest(entityName: "Seat", rows: rows, onDuplicate: .update(by: ["row", "place"]))
        try expectEqual(try context.execute(request).updated.count, 1)
        try expectEqual(try context.execute(request).updated.count, 0)
      }
      try expectEqual(try labels("one"), ["a", "b"])
      try expectEqual(try labels("two"), ["c", "d", "e"])
    }
  }
}
