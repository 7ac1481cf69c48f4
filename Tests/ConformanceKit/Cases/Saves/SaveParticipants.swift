import CoherenceCore
import Foundation

extension ConformanceSubject {
  static let saveParticipants = ConformanceSubject("Save participants") {
    transactions
    refusals
    conflicts
    settings
    announcementsOfTrails
  }

  /// Adds a keeper to the coordinator of a case.
  private static func keep(
    _ stack: ConformanceStack, _ keeper: TrailKeeper
  ) -> TrailKeeper {
    stack.coordinator.addSaveParticipant(keeper)
    return keeper
  }

  private static func authors(_ stack: ConformanceStack) throws -> [String?] {
    try stack.read { try $0.all("Trail").map { try $0.value(for: "author", as: String?.self) } }
  }

  @CasesBuilder private static var transactions: [Case] {
    Case("the records of a participant are saved with the changes", model: Trails.model) { stack in
      let keeper = keep(stack, TrailKeeper(of: "Task"))
      let id = try stack.write { context in
        try context.make("Tag", ["name": "x"])
        let task = try context.make("Task", ["title": "A", "rank": 1])
        try context.save()
        return task.objectID
      }
      let change = try keeper.change(of: "Task")
      try expectEqual(change.id, id)
      try expectEqual(change.kind, .inserted)
      try expect(change.base == nil, "no former row")
      try expectEqual(change.row?[try unwrap(change.entity.attribute(named: "rank")).slot], .int(1))
      try expectEqual(keeper.calls.map(\.count), [1], "the changes of each call")
      try stack.reopen()
      try stack.read { context in
        let trail = try context.one("Trail")
        try expectEqual(try trail.label, "inserted Task A")
        try expectEqual(try trail.value(for: "capitals"), .string("INSERTED TASK A"))
        try expectEqual(trail.version, 1)
      }
    }
    Case(
      "a participant is shown the changed properties of an update, with the rows before and after", model: Trails.model
    ) { stack in
      try stack.write { try $0.make("Task", ["title": "A", "rank": 1]) }
      let keeper = keep(stack, TrailKeeper(of: "Task"))
      try stack.write { context in
        let (task, ada) = (try context.one("Task"), try context.make("Person", ["name": "Ada"]))
        try task.setValue(2, for: "rank")
        try task.setValue("A", for: "title")
        try task.setObject(ada, for: "owner")
      }
      let change = try keeper.change(of: "Task")
      let (rank, owner) = (
        try unwrap(change.entity.attribute(named: "rank")).slot,
        try unwrap(change.entity.relationship(named: "owner")?.slot)
      )
      try expectEqual(change.kind, .updated)
      try expectEqual(change.changedProperties.map(\.name), ["rank", "owner"])
      try expectEqual(change.base?[rank], .int(1))
      try expectEqual(change.row?[rank], .int(2))
      let ada = try stack.read { try $0.one("Person").objectID }
      try expectEqual(change.row?[owner], .reference(ada))
      try expectEqual(change.base?[owner], .null)
    }
    Case("a participant of a thousand changes adds a record for each", model: Trails.model) { stack in
      let keeper = keep(stack, TrailKeeper(of: "Task"))
      let context = stack.context()
      try context.performAndWait {
        let tasks = try (0..<1_100).map { try context.make("Task", ["title": "\($0)"]) }
        try context.save()
        try expectEqual(keeper.changes.map(\.id), tasks.map(\.objectID))
        try expectEqual(try context.number(of: "Trail"), 1_100)
        for task in tasks { try task.setValue(1, for: "rank") }
        try context.save()
      }
      try expectEqual(keeper.calls.map(\.count), [1_100, 1_100])
      try stack.read { context in
        try expectEqual(try context.number(of: "Trail"), 2_200)
        try expectEqual(try context.number(of: "Trail", where: equal("title", "updated Task 7: rank")), 1)
      }
    }
    Case("a record of a participant may refer to a record of the same save", model: Trails.model) { stack in
      _ = keep(stack, TrailKeeper(of: "Person"))
      let context = stack.context()
      try context.performAndWait {
        let ada = try context.make("Person", ["name": "Ada"])
        try context.save()
        try expectEqual(try ada.labels(of: "trails"), ["inserted Person Ada"])
        try ada.setValue("Ada L.", for: "name")
        try context.save()
        // The list was loaded before: the save adds the participant's record to it.
        try expectEqual(try ada.labels(of: "trails"), ["inserted Person Ada", "updated Person Ada L.: name"])
      }
      try stack.read { try expectEqual(try $0.one("Person").objects(for: "trails").count, 2) }
    }
    Case("a participant of several stores is shown each store's part by itself", model: Trails.divided) { stack in
      let coordinator = stack.makeCoordinator(model: Trails.divided)
      let goods = try stack.attach(try stack.makeLocation(), to: coordinator, configuration: "Goods")
      let people = try stack.attach(try stack.makeLocation(companion: true), to: coordinator, configuration: "People")
      let keeper = TrailKeeper(of: "Article", "Customer")
      coordinator.addSaveParticipant(keeper)
      let context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
      try context.performAndWait {
        try context.make("Article", ["name": "a"])
        try context.make("Customer", ["name": "c"])
        try context.save()
        let homes = try context.all("Trail").map { ($0.objectID.storeIdentifier, try $0.label) }
        try expectEqual(homes.first { $0.0 == goods.identifier }?.1, "inserted Article a")
        try expectEqual(homes.first { $0.0 == people.identifier }?.1, "inserted Customer c")
        try expectEqual(homes.count, 2)
      }
      try expectEqual(keeper.calls.map { $0.map(\.entity.name) }, [["Article"], ["Customer"]])
    }
  }

  @CasesBuilder private static var refusals: [Case] {
    Case("a save that fails leaves no record of a participant", model: Trails.model) { stack in
      let keeper = keep(stack, TrailKeeper(of: "Tag"))
      try stack.write { try $0.make("Tag", ["name": "x"]) }
      _ = try expectThrows(.uniquenessViolated) {
        try stack.write { context in for name in ["y", "x"] { try context.make("Tag", ["name": name]) } }
      }
      try expectEqual(keeper.calls.map(\.count), [1, 2])
      try stack.read { context in
        try expectEqual(try context.names("Trail"), ["inserted Tag x"])
        try expectEqual(try context.names("Tag"), ["x"])
      }
    }
    Case("a participant that throws fails the save, and the next save passes", model: Trails.model) { stack in
      struct Refusal: Error {}
      let refusing = TrailKeeper(of: "Task") { _ in throw Refusal() }
      let keeper = keep(stack, TrailKeeper(of: "Task"))
      stack.coordinator.addSaveParticipant(refusing)
      let context = stack.context()
      try context.performAndWait {
        try context.make("Task", ["title": "A"])
        let error = try expectThrows(.validationFailed) { try context.save() }
        try expect(error.underlying is Refusal, "the participant's error")
        try expectEqual(error.outcome, .notApplied)
        try expect(context.hasChanges, "the unsaved object")
        try expectEqual(try stack.read { try $0.number(of: "Task") + $0.number(of: "Trail") }, 0)
        stack.coordinator.removeSaveParticipant(refusing)
        try context.save()
      }
      try expectEqual(keeper.calls.count, 2)
      try stack.read { try expectEqual(try $0.names("Trail"), ["inserted Task A"]) }
    }
    Case("a record of a participant that does not satisfy the model fails the save", model: Trails.model) { stack in
      func attempt(
        _ code: ErrorCode, _ act: @escaping @Sendable (inout SaveParticipation) throws -> Void
      ) throws {
        let keeper = keep(stack, TrailKeeper(of: "Task", act: act))
        defer { stack.coordinator.removeSaveParticipant(keeper) }
        _ = try expectThrows(code) { try stack.write { try $0.make("Task", ["title": "A"]) } }
        try expectEqual(try stack.read { try $0.number(of: "Task") + $0.number(of: "Trail") }, 0)
      }
      try stack.write { try $0.make("Step", ["title": "other"]) }
      let step = try stack.read { try $0.one("Step").objectID }
      try attempt(.validationFailed) { save in
        let trail = try save.model.entity(named: "Trail")
        try save.insert(trail, trail.defaultValues)
      }
      for (name, value) in [("title", AttributeValue.int(1)), ("title", .string("")), ("person", .reference(step))] {
        try attempt(.validationFailed) { save in
          let trail = try save.model.entity(named: "Trail")
          var values = trail.defaultValues
          values[try unwrap(trail.attribute(named: "title")).slot] = .string("A")
          values[try unwrap(trail.slots.firstIndex { $0.name == name })] = value
          try save.insert(trail, values)
        }
      }
      try attempt(.invalidValue) { try $0.insert(try $0.model.entity(named: "Trail"), [.string("A")]) }
    }
    Case("a record of a participant that breaks uniqueness fails the save", model: Trails.model) { stack in
      try stack.write { try $0.make("Tag", ["name": "x"]) }
      _ = keep(
        stack,
        TrailKeeper(of: "Task") { save in
          let tag = try save.model.entity(named: "Tag")
          try save.insert(tag, [.string("x")])
        })
      _ = try expectThrows(.uniquenessViolated) { try stack.write { try $0.make("Task", ["title": "A"]) } }
      try expectEqual(try stack.read { try $0.number(of: "Task") + $0.number(of: "Trail") }, 0)
    }
    Case("a participant that changes objects of the saving context, or saves it, fails the save", model: Trails.model) {
      stack in
      let context = stack.context()
      let acts: [@Sendable (ManagedObjectContext) throws -> Void] = [
        { try $0.make("Step", ["title": "S"]) }, { try $0.save() },
      ]
      for act in acts {
        let keeper = keep(stack, TrailKeeper(of: "Task") { [unowned context] _ in try act(context) })
        defer { stack.coordinator.removeSaveParticipant(keeper) }
        try context.performAndWait {
          try context.make("Task", ["title": "A"])
          _ = try expectThrows(.illegalState) { try context.save() }
          context.rollback()
        }
      }
      try expectEqual(try stack.read { try $0.number(of: "Task") + $0.number(of: "Step") }, 0)
    }
    Case("of a save over several stores, a participant fails the part of one store", model: Trails.divided) { stack in
      let coordinator = stack.makeCoordinator(model: Trails.divided)
      let goods = try stack.attach(try stack.makeLocation(), to: coordinator, configuration: "Goods")
      let people = try stack.attach(try stack.makeLocation(companion: true), to: coordinator, configuration: "People")
      struct Refusal: Error {}
      coordinator.addSaveParticipant(TrailKeeper(of: "Article"))
      coordinator.addSaveParticipant(TrailKeeper(of: "Customer") { _ in throw Refusal() })
      let context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
      try context.performAndWait {
        try context.make("Article", ["name": "a"])
        try context.make("Customer", ["name": "c"])
        let error = try expectThrows(.partialSave) { try context.save() }
        try expectEqual(error.outcomes, [goods.identifier: .applied, people.identifier: .notApplied])
        try expectEqual(try context.names("Trail"), ["inserted Article a"])
      }
    }
  }

  @CasesBuilder private static var conflicts: [Case] {
    Case("after a resolved conflict a participant is asked anew with the resolved values", model: Trails.model) {
      stack in
      try stack.write { try $0.make("Task", ["title": "A", "rank": 1]) }
      let keeper = keep(stack, TrailKeeper(of: "Task"))
      let late = stack.context(.objectTrumps)
      try late.performAndWait {
        let task = try late.one("Task")
        try task.load()
        try stack.write { try $0.one("Task").setValue(2, for: "rank") }
        try task.setValue("B", for: "title")
        try late.save()
      }
      try expectEqual(keeper.calls.count, 3, "the other save and two attempts")
      let rank = try unwrap(keeper.changes[0].entity.attribute(named: "rank")).slot
      try expectEqual(keeper.changes.map { $0.row?[rank] }, [.int(2), .int(1), .int(2)])
      try expectEqual(keeper.changes.map { $0.base?.version }, [1, 1, 2])
      try expectEqual(keeper.changes[2].changedProperties.map(\.name), ["title"])
      try stack.read { context in
        try expectEqual(try context.names("Trail"), ["updated Task A: rank", "updated Task B: title"])
      }
    }
    Case("changes that a merge policy discards are not in the records of a participant", model: Trails.model) { stack in
      try stack.write { try $0.make("Task", ["title": "A", "rank": 1]) }
      let keeper = keep(stack, TrailKeeper(of: "Task"))
      let late = stack.context(.rollback)
      try late.performAndWait {
        let task = try late.one("Task")
        try task.load()
        try stack.write { try $0.one("Task").setValue(2, for: "rank") }
        try task.setValue("B", for: "title")
        try late.make("Task", ["title": "C"])
        try late.save()
      }
      try expectEqual(keeper.calls.map(\.count), [1, 2, 1])
      try stack.read { try expectEqual(try $0.names("Trail"), ["inserted Task C", "updated Task A: rank"]) }
    }
  }

  @CasesBuilder private static var settings: [Case] {
    Case("saves and batch requests of a context that does not record changes are silent", model: Trails.model) {
      stack in
      let keeper = keep(stack, TrailKeeper(of: "Task"))
      let context = stack.context()
      context.recordsChanges = false
      try context.performAndWait {
        try context.make("Task", ["title": "A"])
        try context.save()
        try context.execute(BatchUpdateRequest(entityName: "Task", values: ["rank": 3]))
        try expectEqual(keeper.calls.count, 0)
        context.recordsChanges = true
        try context.one("Task").setValue("B", for: "title")
        try context.save()
      }
      try stack.read { try expectEqual(try $0.names("Trail"), ["updated Task B: title"]) }
    }
    Case("a participant has the name of the author of the save", model: Trails.model) { stack in
      _ = keep(stack, TrailKeeper(of: "Task"))
      let context = stack.context()
      try context.performAndWait {
        for author in ["ada", nil] {
          context.transactionAuthor = author
          try context.make("Task", ["title": "A"])
          try context.save()
        }
      }
      let found = try authors(stack)
      try expect(found.count == 2 && found.contains("ada") && found.contains(nil), "the author of each save")
    }
    Case("of nested contexts, the context that saves into the store asks participants", model: Trails.model) { stack in
      let keeper = keep(stack, TrailKeeper(of: "Task"))
      let parent = stack.context()
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
      (parent.transactionAuthor, child.transactionAuthor) = ("parent", "child")
      try parent.performAndWait {
        try child.performAndWait {
          try child.make("Task", ["title": "A"])
          try child.save()
        }
        try expectEqual(keeper.calls.count, 0, "calls by a save into the parent")
        try parent.save()
      }
      try expectEqual(try authors(stack), ["parent"])
      child.savesPastParent = true
      try child.performAndWait {
        try child.one("Task").setValue(2, for: "rank")
        try child.save()
      }
      try expectEqual(Set(try authors(stack)), ["parent", "child"])
      try stack.read { try expectEqual(try $0.names("Trail"), ["inserted Task A", "updated Task A: rank"]) }
    }
    Case("a stored value that a child sets below its parent's unsaved edit is no change", model: Trails.model) {
      stack in
      try stack.write { try $0.make("Task", ["title": "A", "rank": 1]) }
      let keeper = keep(stack, TrailKeeper(of: "Task"))
      let parent = stack.context()
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
      child.savesPastParent = true
      try parent.performAndWait { try parent.one("Task").setValue("B", for: "title") }
      for rank in [1, 2] {
        try child.performAndWait {
          let task = try child.one("Task")
          try task.setValue("A", for: "title")
          try task.setValue(rank, for: "rank")
          try child.save()
        }
      }
      try expectEqual(try keeper.change(of: "Task").changedProperties.map(\.name), ["rank"])
      try stack.read { try expectEqual(try $0.names("Trail"), ["updated Task A: rank"]) }
    }
    Case("a participant that was removed is not asked, and one that was added twice is asked once", model: Trails.model)
    {
      stack in
      let keeper = keep(stack, keep(stack, TrailKeeper(of: "Task")))
      try stack.write { try $0.make("Task", ["title": "A"]) }
      stack.coordinator.removeSaveParticipant(keeper)
      stack.coordinator.removeSaveParticipant(keeper)
      try stack.write { try $0.make("Task", ["title": "B"]) }
      try expectEqual(keeper.calls.count, 1)
      try stack.read { try expectEqual(try $0.names("Trail"), ["inserted Task A"]) }
    }
    Case("two participants add records to one save, and are not shown each other's", model: Trails.model) { stack in
      let keepers = ["Task", "Tag", "Trail"].map { keep(stack, TrailKeeper(of: $0)) }
      try stack.write { context in
        try context.make("Tag", ["name": "x"])
        try context.make("Task", ["title": "A"])
      }
      try expectEqual(keepers.map(\.changes.count), [1, 1, 0])
      try stack.read { try expectEqual(try $0.names("Trail"), ["inserted Tag x", "inserted Task A"]) }
    }
  }

  @CasesBuilder private static var announcementsOfTrails: [Case] {
    Case("the records of participants are announced as inserted", model: Trails.model) { stack in
      _ = keep(stack, TrailKeeper(of: "Task"))
      let (context, follower) = (stack.context(), stack.context())
      follower.follow(context)
      var saves = context.didSaveChanges.makeAsyncIterator()
      var shown = follower.objectsDidChange.makeAsyncIterator()
      var trails = try stack.coordinator.entityChanges(of: "Trail").makeAsyncIterator()
      let task = try await context.perform {
        let task = try context.make("Task", ["title": "A"])
        try context.save()
        return task.objectID
      }
      let trail = try stack.read { try $0.one("Trail").objectID }
      try expectEqual(await saves.next()?.insertedIDs, [task, trail])
      try expectEqual(await shown.next()?.inserted, [task, trail])
      try expectEqual(await trails.next()?.inserted, [trail])
    }
    Case("the saving context announces the records of participants to its observers", model: Trails.model) { stack in
      _ = keep(stack, TrailKeeper(of: "Task"))
      let context = stack.context()
      var changes = context.objectsDidChange.makeAsyncIterator()
      let task = try await context.perform {
        let task = try context.make("Task", ["title": "A"])
        try context.obtainPermanentIDs(for: [task])
        try context.save()
        return task.objectID
      }
      let trail = try stack.read { try $0.one("Trail").objectID }
      try expectEqual(await changes.next()?.inserted, [task], "the context's own insert")
      try expectEqual(await changes.next()?.inserted, [trail], "the participant's record")
    }
  }
}
