import CoherenceCore

extension ConformanceSubject {
  static let deleteRules = ConformanceSubject("Delete rules") {
    rules
    chains
    links
    readsAfterDeletes
  }

  /// A house with one thing of that entity.
  private static func house(_ stack: ConformanceStack, with entity: String, _ relationship: String) throws {
    try stack.write { context in
      let thing = try context.make(entity, ["name": "thing"])
      try context.make("House", ["name": "house"]).setObjects([thing], for: relationship)
    }
  }

  /// Deletes the first record of a chain, in which each record leads to the record before it.
  private static func deleteChain(of count: Int, _ stack: ConformanceStack) throws {
    try stack.write { context in
      var last: ManagedObject?
      for index in 0..<count {
        let link = try context.make("Chain", ["name": "\(index)"])
        try link.setObject(last, for: "previous")
        last = link
      }
    }
    try stack.write { $0.delete(try $0.one("Chain", where: equal("name", "0"))) }
    try stack.read { try expectEqual(try $0.number(of: "Chain"), 0) }
  }

  private static func deleteHouse(_ context: ManagedObjectContext) throws { context.delete(try context.one("House")) }

  @CasesBuilder private static var rules: [Case] {
    Case("nullify lets the destination forget the deleted source", model: Rooms.model) { stack in
      try house(stack, with: "Guest", "guests")
      try stack.write { try deleteHouse($0) }
      try stack.read { try expectEqual(try $0.one("Guest").value(for: "house"), .null) }
    }
    Case("nullify raises the version of the destination", model: Rooms.model) { stack in
      try house(stack, with: "Guest", "guests")
      try stack.write { try deleteHouse($0) }
      try stack.read { try expectEqual(try $0.one("Guest").version, 2) }
    }
    Case("cascade deletes the destination too", model: Rooms.model) { stack in
      try house(stack, with: "Room", "rooms")
      try stack.write { try deleteHouse($0) }
      try stack.read { try expectEqual(try $0.number(of: "Room"), 0) }
    }
    Case("deny forbids the delete while a destination exists", model: Rooms.model) { stack in
      try house(stack, with: "Tenant", "tenants")
      try stack.read { context in
        try deleteHouse(context)
        let error = try expectThrows(.deleteDenied) { try context.save() }
        try expectEqual(error.failures.map(\.code), [.deleteDenied])
        try expectEqual(error.failures.map(\.propertyName), ["tenants"])
      }
      try stack.read { try expectEqual(try $0.number(of: "House"), 1) }
    }
    Case("deny allows the delete after the destination is deleted", model: Rooms.model) { stack in
      try house(stack, with: "Tenant", "tenants")
      try stack.write { context in
        try deleteHouse(context)
        context.delete(try context.one("Tenant"))
      }
      try stack.read { try expectEqual(try $0.number(of: "House"), 0) }
    }
    Case("deny of a to-one relationship forbids the delete while the target exists", model: Rooms.model) { stack in
      for source in ["Key", "Bolt", "Sign"] {
        try stack.write { context in
          let door = try context.make("Door", ["name": source])
          try context.make(source, ["name": "first"]).setObject(door, for: "door")
        }
        try stack.read { context in
          context.delete(try context.one(source))
          let error = try expectThrows(.deleteDenied) { try context.save() }
          try expectEqual(error.failures.map(\.propertyName), ["door"])
        }
        try stack.read { try expectEqual(try $0.number(of: source), 1) }
        try stack.write { context in
          context.delete(try context.one(source))
          context.delete(try context.one("Door"))
        }
        try stack.read { try expectEqual(try $0.number(of: source), 0) }
      }
    }
    Case("deny of a to-one relationship holds for a record deleted by a cascade", model: Rooms.model) { stack in
      for source in ["Key", "Bolt", "Sign"] {
        try stack.write { context in
          let part = try context.make(source, ["name": "first"])
          try part.setObject(try context.make("Door", ["name": source]), for: "door")
          try part.setObject(try context.make("Frame", ["name": source]), for: "frame")
        }
        try stack.read { context in
          context.delete(try context.one("Frame"))
          let error = try expectThrows(.deleteDenied) { try context.save() }
          try expectEqual(error.failures.map(\.propertyName), ["door"])
        }
        try stack.read { try expectEqual(try $0.number(of: source), 1) }
        try stack.write { context in
          context.delete(try context.one("Frame"))
          context.delete(try context.one("Door"))
        }
        try stack.read { try expectEqual(try $0.number(of: source), 0) }
      }
    }
    Case("deny of a to-one relationship allows the delete after the target is removed", model: Rooms.model) { stack in
      for source in ["Key", "Bolt", "Sign"] {
        try stack.write { context in
          let door = try context.make("Door", ["name": source])
          try context.make(source, ["name": "first"]).setObject(door, for: "door")
        }
        try stack.write { context in
          let doomed = try context.one(source)
          try doomed.setObject(nil, for: "door")
          context.delete(doomed)
        }
        try stack.read { try expectEqual(try $0.number(of: source), 0) }
      }
      try stack.read { try expectEqual(try $0.number(of: "Door"), 3) }
    }
    Case("deny holds for a member linked by another writer after the read", model: Rooms.model) { stack in
      for (index, relationship) in ["clubs", "sights"].enumerated() {
        try stack.write { context in
          try context.make("House", ["name": relationship])
          try context.make("Club", ["name": relationship])
        }
        let house = equal("name", relationship)
        try stack.read { context in
          let doomed = try context.one("House", where: house)
          _ = try doomed.objects(for: relationship)
          try stack.write { other in
            let club = try other.one("Club", where: house)
            try other.one("House", where: house).setObjects([club], for: relationship)
          }
          context.delete(doomed)
          let error = try expectThrows(.deleteDenied) { try context.save() }
          try expectEqual(error.failures.map(\.propertyName), [relationship])
          try expectEqual(error.objectIDs, [doomed.objectID])
        }
        try stack.read { try expectEqual(try $0.number(of: "House"), index + 1) }
      }
    }
    Case("deny allows the delete after the members are removed, from either side", model: Rooms.model) { stack in
      for relationship in ["clubs", "sights"] {
        for isOwners in [true, false] where isOwners || relationship == "clubs" {
          try stack.write { context in
            let club = try context.make("Club", ["name": relationship])
            try context.make("House", ["name": "house"]).setObjects([club], for: relationship)
          }
          try stack.write { context in
            if isOwners {
              try context.one("House").setObjects([], for: relationship)
            } else {
              try context.all("Club").forEach { try $0.setObjects([], for: "houses") }
            }
            try deleteHouse(context)
          }
          try stack.read { try expectEqual(try $0.number(of: "House"), 0) }
        }
      }
    }
    Case("no action leaves the destination unchanged", model: Rooms.model) { stack in
      try house(stack, with: "Ghost", "ghosts")
      try stack.write { try deleteHouse($0) }
      try stack.reopen()
      try stack.read { context in
        let ghost = try context.one("Ghost")
        try expectEqual(ghost.version, 1)
        try expect(try !ghost.value(for: "house").isNull, "the reference to be left")
      }
    }
    Case("a deleted member leaves its owner", model: Rooms.model) { stack in
      try house(stack, with: "Room", "rooms")
      try stack.write { $0.delete(try $0.one("Room")) }
      try stack.read { try expectEqual(try $0.one("House").labels(of: "rooms"), []) }
    }
    Case("a deleted record leaves its many-to-many relationships", model: Rooms.model) { stack in
      try stack.write { context in
        let streets = try ["a", "b"].map { try context.make("Street", ["name": $0]) }
        try context.make("House", ["name": "house"]).setObjects(streets, for: "streets")
      }
      try stack.write { try deleteHouse($0) }
      try stack.read { context in
        for street in try context.all("Street") { try expectEqual(try street.labels(of: "houses"), []) }
      }
    }
  }

  @CasesBuilder private static var chains: [Case] {
    Case("cascades continue from deleted objects", model: Rooms.model) { stack in
      try stack.write { context in
        let house = try context.make("House", ["name": "house"])
        for name in ["1", "2"] {
          let room = try context.make("Room", ["name": name])
          try room.setObject(house, for: "house")
          for chair in ["x", "y"] { try context.make("Chair", ["name": chair]).setObject(room, for: "room") }
        }
      }
      try stack.write { try deleteHouse($0) }
      try stack.read { context in
        for entity in ["House", "Room", "Chair"] { try expectEqual(try context.number(of: entity), 0, entity) }
      }
    }
    Case("cascades that form a cycle end", model: Rooms.model) { stack in
      try stack.write { context in
        try context.make("House", ["name": "house"]).setObject(try context.make("Deed", ["name": "d"]), for: "deed")
      }
      try stack.write { $0.delete(try $0.one("Deed")) }
      try stack.read { context in
        try expectEqual(try context.number(of: "House"), 0)
        try expectEqual(try context.number(of: "Deed"), 0)
      }
    }
    Case("a chain of a hundred records is deleted by its first", model: Rooms.model) { try deleteChain(of: 100, $0) }
    Case("a chain of 10,000 records is deleted by its first", model: Rooms.model) { try deleteChain(of: 10_000, $0) }
    Case("a missing required owner is no error in a record deleted with it", model: Rooms.model) { stack in
      try stack.write { context in
        let room = try context.make("Room", ["name": "1"])
        try context.make("Chair", ["name": "x"]).setObject(room, for: "room")
      }
      try stack.write { $0.delete(try $0.one("Room")) }
      try stack.read { try expectEqual(try $0.number(of: "Chair"), 0) }
    }
    Case("delete rules are applied to new records", model: Rooms.model) { stack in
      try stack.write { context in
        let house = try context.make("House", ["name": "house"])
        try context.make("Room", ["name": "1"]).setObject(house, for: "house")
        try context.make("Guest", ["name": "g"]).setObject(house, for: "house")
        context.delete(house)
      }
      try stack.read { context in
        try expectEqual(try context.number(of: "Room"), 0)
        try expectEqual(try context.one("Guest").value(for: "house"), .null)
      }
    }
    Case("a fetch shows the effects of delete rules before the save", model: Rooms.model) { stack in
      try house(stack, with: "Room", "rooms")
      try stack.read { context in
        try deleteHouse(context)
        try expectEqual(try context.number(of: "Room"), 0)
        context.rollback()
        try expectEqual(try context.number(of: "Room"), 1)
        try expectEqual(try context.one("House").labels(of: "rooms"), ["thing"])
      }
    }
  }

  @CasesBuilder private static var links: [Case] {
    Case("the links of any number of deleted records are read together") { stack in
      let interposition = try stack.interpose()
      func readsOfDeleting(_ count: Int) throws -> Int {
        try stack.write { context in
          let parent = try context.make("Genre", ["name": "genre of \(count)"])
          for number in 0..<count {
            try context.make("Album", ["title": "\(number)"]).setObjects([parent], for: "genres")
          }
        }
        return try stack.read { context in
          for album in try context.all("Album") { context.delete(album) }
          try context.processPendingChanges()
          let before = interposition.fetchCount
          try context.save()
          return interposition.fetchCount - before
        }
      }
      try expectEqual(try readsOfDeleting(30), try readsOfDeleting(2), "the number of reads")
      try stack.read {
        try expectEqual(try $0.one("Genre", where: equal("name", "genre of 30")).objects(for: "albums"), [])
      }
    }
    Case("the changes by entity report a record that lost its link to a deleted record", model: Rooms.model) { stack in
      let house = try stack.write { context in
        let house = try context.make("House", ["name": "house"])
        try house.setObjects([try context.make("Street", ["name": "street"])], for: "streets")
        try context.save()
        return house.objectID
      }
      var changes = try stack.coordinator.entityChanges(of: "House").makeAsyncIterator()
      try stack.write { context in context.delete(try context.one("Street")) }
      // The insert ends the wait also of a stream without the first change.
      let other = try stack.write { context in
        let other = try context.make("House", ["name": "other"])
        try context.save()
        return other.objectID
      }
      let report = await changes.next()
      try expectEqual(report?.updated, [house])
      try expectEqual(report?.inserted, [other])
    }
  }
}
