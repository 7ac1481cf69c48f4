import CoherenceCore

extension ConformanceSubject {
  /// A model with two one-to-one relationships between the same entities.
  private static let pairModel = soundModel {
    Entity("Tag") {
      Attribute("name", .string)
      Relationship("badge", toOne: "Badge", inverse: "tag")
      Relationship("spare", toOne: "Badge", inverse: "owner")
    }
    Entity("Badge") {
      Attribute("name", .string)
      Relationship("tag", toOne: "Tag", inverse: "badge")
      Relationship("owner", toOne: "Tag", inverse: "spare")
    }
  }

  @CasesBuilder static var partnersInTwoRelationships: [Case] {
    Case(
      "a record that loses its partner in two relationships by one conflict leads to it in neither", model: pairModel
    ) { stack in
      try stack.write { context in
        for name in ["a", "b"] { try context.make("Tag", ["name": name]) }
        try context.make("Badge", ["name": "1"])
      }
      let late = stack.context(.objectTrumps)
      try late.performAndWait {
        let tags = try late.all("Tag", sort: [SortKey("name")])
        let badge = try late.one("Badge")
        for object in tags + [badge] { try object.load() }
        try stack.write { context in
          let tag = try context.one("Tag", where: equal("name", "a"))
          for name in ["badge", "spare"] { try tag.setObject(try context.one("Badge"), for: name) }
        }
        for name in ["badge", "spare"] { try tags[1].setObject(badge, for: name) }
        try late.save()
      }
      try stack.read { context in
        let tags = try context.all("Tag", sort: [SortKey("name")])
        let badge = try context.one("Badge")
        for (name, inverseName) in [("badge", "tag"), ("spare", "owner")] {
          try expect(try tags[0].object(for: name) == nil, "no \(name) of the first tag")
          try expect(try tags[1].object(for: name) === badge, "the \(name) of the second tag")
          try expect(try badge.object(for: inverseName) === tags[1], "the \(inverseName) of the badge")
        }
      }
    }
  }
}
