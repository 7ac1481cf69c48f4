import CoherenceCore

extension ConformanceSubject {
  static let orderedRelationships = ConformanceSubject("Ordered relationships") {
    changes("an ordered one-to-many relationship", .tracks)
    changes("an ordered many-to-many relationship", .band)
    changes("an ordered relationship without inverse", .playlist)
    edges("an ordered one-to-many relationship", .tracks)
    edges("an ordered many-to-many relationship", .band)
    edges("an ordered relationship without inverse", .playlist)
    sides
  }

  private static func changes(_ what: String, _ list: OrderedList) -> [Case] {
    func changing(
      _ sentence: String, _ start: [String], _ end: [String],
      _ change: @escaping @Sendable (inout [ManagedObject], ManagedObjectContext) throws -> Void
    ) -> Case {
      Case("\(what) \(sentence)") { stack in
        try stack.write { try list.fill($0, start) }
        try stack.write { context in
          let owner = try context.one(list.owner)
          try expectEqual(try owner.labels(of: list.relationship), start, "the members before")
          var members = try owner.objects(for: list.relationship)
          try change(&members, context)
          try owner.setObjects(members, for: list.relationship)
          try expectEqual(try owner.labels(of: list.relationship), end, "the members before the save")
        }
        try stack.reopen()
        try stack.read {
          try expectEqual(try $0.one(list.owner).labels(of: list.relationship), end, "the members after")
        }
      }
    }
    return [
      changing("keeps the order in which it was set", ["c", "a", "b"], ["c", "a", "b"]) { _, _ in },
      changing("is reversed", ["a", "b", "c", "d"], ["d", "c", "b", "a"]) { members, _ in members.reverse() },
      changing("takes a fresh member at its beginning", ["a", "b"], ["z", "a", "b"]) { members, context in
        members.insert(try context.make(list.member, [list.memberName: "z"]), at: 0)
      },
      changing("takes a fresh member in its middle", ["a", "b"], ["a", "z", "b"]) { members, context in
        members.insert(try context.make(list.member, [list.memberName: "z"]), at: 1)
      },
      changing("takes many members at its end", ["a"], ["a"] + (10..<40).map(String.init)) { members, context in
        for name in 10..<40 { members.append(try context.make(list.member, [list.memberName: "\(name)"])) }
      },
      changing("loses a member from its middle", ["a", "b", "c"], ["a", "c"]) { members, _ in members.remove(at: 1) },
      changing("has one member moved", ["a", "b", "c", "d"], ["b", "c", "a", "d"]) { members, _ in
        members.insert(members.remove(at: 0), at: 2)
      },
      changing("is emptied", ["a", "b"], []) { members, _ in members.removeAll() },
      changing("is replaced", ["a", "b"], ["y", "x"]) { members, context in
        members = try ["y", "x"].map { try context.make(list.member, [list.memberName: $0]) }
      },
      changing("forgets a deleted member and keeps the order of the others", ["a", "b", "c"], ["a", "c"]) {
        members, context in
        context.delete(members.remove(at: 1))
      },
    ]
  }

  private static func edges(_ what: String, _ list: OrderedList) -> Case {
    Case("\(what) takes the nearest position for a position beyond its ends, and has no member twice") { stack in
      try list.fill(stack, ["a", "b", "c"])
      try stack.write { context in
        let members = try list.list(context)
        func fresh(_ name: String) throws -> ManagedObject { try context.make(list.member, [list.memberName: name]) }
        func expectMembers(_ names: String...) throws {
          try expectEqual(try context.one(list.owner).labels(of: list.relationship), names, "the members")
        }
        members.insert(try fresh("first"), at: -5)
        members.insert(try fresh("last"), at: 50)
        try expectMembers("first", "a", "b", "c", "last")
        let (a, c) = (members[1], members[3])
        members.append(a)
        try expectMembers("first", "a", "b", "c", "last")
        members.insert(c, at: 1)
        try expectMembers("first", "c", "a", "b", "last")
        members.move(from: 0, to: 50)
        members.move(from: 3, to: -1)
        try expectMembers("last", "c", "a", "b", "first")
        let outsider = try fresh("outsider")
        members.remove(outsider)
        try expectMembers("last", "c", "a", "b", "first")
        members.replace(with: [c, a, c, a])
        try expectMembers("c", "a")
        try expect(members.contains(a) && !members.contains(outsider) && members.count == 2, "two members")
      }
      try expectEqual(try list.stored(stack), ["c", "a"])
    }
  }

  @CasesBuilder private static var sides: [Case] {
    Case("a member added from its own side comes last") { stack in
      try stack.write { context in
        let album = try context.make("Album", ["title": "A"])
        let tracks = try ["b", "a"].map { try context.make("Track", ["title": $0]) }
        try album.setObjects(tracks, for: "tracks")
        try context.save()
        try context.make("Track", ["title": "0"]).setObject(album, for: "album")
        try expectEqual(try album.labels(of: "tracks"), ["b", "a", "0"])
      }
      try stack.reopen()
      try stack.read { try expectEqual(try $0.one("Album").labels(of: "tracks"), ["b", "a", "0"]) }
    }
    Case("a member added to another ordered owner leaves the first owner's order") { stack in
      try stack.write { context in
        let tracks = try ["1", "2", "3"].map { try context.make("Track", ["title": $0]) }
        try context.make("Album", ["title": "A"]).setObjects(tracks, for: "tracks")
        let other = try context.make("Album", ["title": "B"])
        try other.setObjects([try context.make("Track", ["title": "0"])], for: "tracks")
      }
      try stack.write { context in
        let track = try context.one("Track", where: equal("title", "2"))
        let other = try context.one("Album", where: equal("title", "B"))
        try other.setObjects([track] + other.objects(for: "tracks"), for: "tracks")
      }
      try stack.reopen()
      try stack.read { context in
        try expectEqual(try context.one("Album", where: equal("title", "A")).labels(of: "tracks"), ["1", "3"])
        try expectEqual(try context.one("Album", where: equal("title", "B")).labels(of: "tracks"), ["2", "0"])
      }
    }
    Case("a manual order is independent of the order of the inverse") { stack in
      try stack.write { context in
        let people = try ["x", "y"].map { try context.make("Artist", ["name": $0]) }
        let bands = try ["A", "B"].map { try context.make("Band", ["name": $0]) }
        try bands[0].setObjects([people[1], people[0]], for: "members")
        try people[0].setObjects([bands[0], bands[1]], for: "bands")
      }
      try stack.reopen()
      try stack.read { context in
        try expectEqual(try context.one("Band", where: equal("name", "A")).labels(of: "members"), ["y", "x"])
        try expectEqual(try context.one("Band", where: equal("name", "B")).labels(of: "members"), ["x"])
        try expectEqual(try context.one("Artist", where: equal("name", "x")).labels(of: "bands"), ["A", "B"])
      }
    }
  }
}
