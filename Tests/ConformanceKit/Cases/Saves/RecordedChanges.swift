import CoherenceCore

extension ConformanceSubject {
  static let recordedChanges = ConformanceSubject("Recorded changes") {
    deletesOfRecords
    membersOfRecords
    batches
  }

  /// Runs a block that saves, and returns the participant that observed it.
  private static func kept(
    _ stack: ConformanceStack, _ keeper: TrailKeeper, _ body: (ManagedObjectContext) throws -> Void
  ) throws -> TrailKeeper {
    stack.coordinator.addSaveParticipant(keeper)
    try stack.write(body)
    return keeper
  }

  private static func trail(_ stack: ConformanceStack) throws -> [String] { try stack.read { try $0.names("Trail") } }

  @CasesBuilder private static var deletesOfRecords: [Case] {
    Case("deletes by cascades and cleared references are recorded", model: Trails.model) { stack in
      try stack.write { context in
        let ada = try context.make("Person", ["name": "Ada"])
        for title in ["A", "B"] { try context.make("Task", ["title": title]).setObject(ada, for: "owner") }
        try context.make("Task", ["title": "C"]).setObject(ada, for: "reviewer")
      }
      let keeper = try kept(stack, TrailKeeper(of: "Person", "Task")) { $0.delete(try $0.one("Person")) }
      try expectEqual(
        try trail(stack),
        ["deleted Person Ada", "deleted Task A", "deleted Task B", "updated Task C: reviewer"])
      let deletes = keeper.changes.filter { $0.kind == .deleted }
      try expect(deletes.allSatisfy { $0.row == nil && $0.base != nil && $0.members.isEmpty }, "the former rows alone")
      try expect(deletes.allSatisfy(\.changedProperties.isEmpty), "no changed properties of deletes")
    }
    Case("an insert and a delete in one unit of work record nothing", model: Trails.model) { stack in
      let keeper = try kept(stack, TrailKeeper(of: "Task")) { context in
        context.delete(try context.make("Task", ["title": "A"]))
        try context.make("Tag", ["name": "x"])
      }
      try expectEqual(keeper.calls.count, 0)
      try expectEqual(try trail(stack), [])
    }
  }

  @CasesBuilder private static var membersOfRecords: [Case] {
    Case("changes of a relationship of many to many are recorded on both sides", model: Trails.model) { stack in
      let (task, ids) = try stack.write { context in
        let tags = try ["x", "y", "z"].map { try context.make("Tag", ["name": $0]) }
        let task = try context.make("Task", ["title": "A"])
        try task.setObjects(Array(tags.prefix(2)), for: "tags")
        try context.save()
        return (task.objectID, tags.map(\.objectID))
      }
      let keeper = try kept(stack, TrailKeeper(of: "Task", "Tag")) { context in
        let tags = try ["y", "z"].map { try context.one("Tag", where: equal("name", $0)) }
        try context.one("Task").setObjects(tags, for: "tags")
      }
      try expectEqual(try trail(stack), ["updated Tag x: tasks", "updated Tag z: tasks", "updated Task A: tags"])
      let change = try keeper.change(of: "Task")
      let members = try unwrap(change.members.first, "changed members")
      try expectEqual(members.relationship.name, "tags")
      try expectEqual(members.added, [ids[2]])
      try expectEqual(members.removed, [ids[0]])
      try expect(!members.isReordered && change.changedSlots.isEmpty, "changed members alone")
      try expectEqual(change.row?.version, change.base?.version)
      let others = keeper.changes.filter { $0.entity.name == "Tag" }.flatMap(\.members)
      try expectEqual(others.flatMap(\.added), [task])
      try expectEqual(others.flatMap(\.removed), [task])
      try expect(others.allSatisfy { $0.isOwner != members.isOwner }, "one side that stands for the relationship")
    }
    Case("members of an inserted record are recorded with permanent identifiers", model: Trails.model) { stack in
      let keeper = try kept(stack, TrailKeeper(of: "Task")) { context in
        let task = try context.make("Task", ["title": "A"])
        try task.setObjects([try context.make("Tag", ["name": "x"])], for: "tags")
        try task.setObjects([try context.make("Step", ["title": "1"])], for: "steps")
      }
      let (tag, step) = try stack.read { (try $0.one("Tag").objectID, try $0.one("Step").objectID) }
      let change = try keeper.change(of: "Task")
      try expectEqual(change.members.map(\.relationship.name), ["steps", "tags"])
      try expectEqual(change.members.map(\.added), [[step], [tag]])
    }
    Case("another order of members is recorded as a change of the owner", model: Trails.model) { stack in
      try stack.write { context in
        let steps = try ["1", "2", "3"].map { try context.make("Step", ["title": $0]) }
        try context.make("Task", ["title": "A"]).setObjects(steps, for: "steps")
      }
      let keeper = try kept(stack, TrailKeeper(of: "Task", "Step")) { context in
        let steps = try ["3", "1", "2"].map { try context.one("Step", where: equal("title", $0)) }
        try context.one("Task").setObjects(steps, for: "steps")
      }
      try expectEqual(try trail(stack), ["updated Task A: steps"])
      let members = try unwrap(keeper.changes[0].members.first, "changed members")
      try expect(members.isReordered && members.added.isEmpty && members.removed.isEmpty, "another order alone")
    }
    Case("a member of one to many is recorded with its reference, and its owner with the member", model: Trails.model) {
      stack in
      try stack.write { try $0.make("Person", ["name": "Ada"]) }
      let keeper = try kept(stack, TrailKeeper(of: "Task", "Person")) { context in
        try context.make("Task", ["title": "A"]).setObject(try context.one("Person"), for: "owner")
      }
      try expectEqual(try trail(stack), ["inserted Task A", "updated Person Ada: tasks"])
      let owner = try keeper.change(of: "Person")
      try expectEqual(owner.members.map(\.added), [[try keeper.change(of: "Task").id]])
      try expect(owner.members.allSatisfy { !$0.isOwner }, "an owner that does not stand for the relationship")
    }
  }

  @CasesBuilder private static var batches: [Case] {
    Case("a batch update of observed records is recorded", model: Trails.model) { stack in
      try stack.write { context in
        for (title, rank) in [("A", 1), ("B", 5), ("C", 9)] {
          try context.make("Task", ["title": title, "rank": rank])
        }
      }
      let keeper = TrailKeeper(of: "Task")
      stack.coordinator.addSaveParticipant(keeper)
      try stack.read { context in
        let request = BatchUpdateRequest(
          entityName: "Task", predicate: compare("rank", .less, 9), values: ["rank": 5])
        try expectEqual(try context.execute(request).count, 2)
      }
      // The second record had the value already: it is written, and is no change.
      try expectEqual(try trail(stack), ["updated Task A: rank"])
      try stack.read { context in
        try expectEqual(try context.number(of: "Task", where: equal("rank", 5)), 2)
        try expectEqual(try context.all("Task", sort: [SortKey("title")]).map(\.version), [2, 2, 1])
      }
    }
    Case("a batch delete records the deleted records and the cleared references", model: Trails.model) { stack in
      try stack.write { context in
        let ada = try context.make("Person", ["name": "Ada"])
        try context.make("Person", ["name": "Bob"])
        try context.make("Task", ["title": "A"]).setObject(ada, for: "owner")
      }
      let keeper = TrailKeeper(of: "Person", "Task")
      stack.coordinator.addSaveParticipant(keeper)
      try stack.read { context in
        try context.execute(BatchDeleteRequest(entityName: "Person", predicate: equal("name", "Ada")))
        try expectEqual(try context.names("Trail"), ["deleted Person Ada", "updated Task A: owner"])
      }
      try stack.read { try expectEqual(try $0.names("Person"), ["Bob"]) }
    }
    Case("a batch delete of unobserved records is recorded by the references that it clears", model: Trails.model) {
      stack in
      try stack.write { context in
        let ada = try context.make("Person", ["name": "Ada"])
        try context.make("Task", ["title": "A"]).setObject(ada, for: "reviewer")
      }
      stack.coordinator.addSaveParticipant(TrailKeeper(of: "Task"))
      try stack.read { _ = try $0.execute(BatchDeleteRequest(entityName: "Person")) }
      try expectEqual(try trail(stack), ["updated Task A: reviewer"])
    }
    Case("a batch request that fails leaves no record of a participant", model: Trails.model) { stack in
      try stack.write { context in for name in ["x", "y"] { try context.make("Tag", ["name": name]) } }
      let keeper = TrailKeeper(of: "Tag")
      stack.coordinator.addSaveParticipant(keeper)
      try stack.read { context in
        _ = try expectThrows(.uniquenessViolated) {
          try context.execute(BatchUpdateRequest(entityName: "Tag", values: ["name": "z"]))
        }
      }
      try expectEqual(keeper.calls.count, 1)
      try expectEqual(try trail(stack), [])
    }
    Case("the records of a participant in a batch request are announced", model: Trails.model) { stack in
      try stack.write { try $0.make("Task", ["title": "A"]) }
      stack.coordinator.addSaveParticipant(TrailKeeper(of: "Task"))
      let context = stack.context()
      var saves = context.didSaveChanges.makeAsyncIterator()
      var trails = try stack.coordinator.entityChanges(of: "Trail").makeAsyncIterator()
      try await context.perform { _ = try context.execute(BatchUpdateRequest(entityName: "Task", values: ["rank": 1])) }
      let trail = try stack.read { try $0.one("Trail").objectID }
      try expectEqual(await saves.next()?.insertedIDs, [trail])
      try expectEqual(await trails.next()?.inserted, [trail])
    }
  }
}
