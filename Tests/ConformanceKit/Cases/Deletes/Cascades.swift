import CoherenceCore

extension ConformanceSubject {
  /// Deletes of many records by delete rules.
  static let cascades = ConformanceSubject("Cascades") {
    withoutObjects
    rulesBelow
    unsavedBelow
    takenBack
    otherContexts
  }

  private static func deleteOrchard(_ context: ManagedObjectContext, _ name: String = "orchard") throws {
    context.delete(try context.one("Orchard", where: equal("name", name)))
  }

  private static func expectNothingLeft(
    _ stack: ConformanceStack, _ entities: [String] = ["Orchard", "Tree", "Leaf", "Fruit"]
  ) throws {
    try stack.read { context in
      for entity in entities { try expectEqual(try context.number(of: entity), 0, entity) }
    }
  }

  @CasesBuilder private static var withoutObjects: [Case] {
    Case("a cascade makes no object of a class without hooks, on every level", model: Orchards.model) { stack in
      try Orchards.plant(stack, trees: 3, leaves: 4)
      let count = try ObjectCount.counting { try stack.write { try deleteOrchard($0) } }
      try expectEqual(count.made, [])
      try expectNothingLeft(stack)
    }
    Case("the reads of a cascade follow its levels, not its records", model: Orchards.model) { stack in
      let interposition = try stack.interpose()
      func reads(_ trees: Int, _ leaves: Int) throws -> Int {
        let name = "\(trees) \(leaves)"
        try Orchards.plant(stack, trees: trees, leaves: leaves, name: name)
        return try stack.read { context in
          try deleteOrchard(context, name)
          let before = interposition.fetchCount
          try context.save()
          return interposition.fetchCount - before
        }
      }
      let few = try reads(2, 1)
      try expectEqual(try reads(60, 9), few, "the number of reads")
      try expectNothingLeft(stack)
    }
    Case(
      "a cascade makes objects of classes that declare a hook or nothing, and calls the hooks", model: Orchards.model
    ) { stack in
      try stack.write { context in
        let tree = try context.make("Tree", ["name": "t"])
        try tree.setObject(try context.make("Orchard", ["name": "orchard"]), for: "orchard")
        for entity in ["Fruit", "Apple", "Pear", "Plum"] {
          try context.make(entity, ["name": entity]).setObject(tree, for: "tree")
        }
      }
      let count = try ObjectCount.counting { try stack.write { try deleteOrchard($0) } }
      try expectEqual(count.made, ["Pear", "Plum"])
      try expectEqual(count.hooks, ["didSave", "prepareForDeletion", "validateForDelete"])
      try expectNothingLeft(stack)
    }
    Case("registered objects become deleted objects, and others do when they are asked for", model: Orchards.model) {
      stack in
      try Orchards.plant(stack, trees: 1, leaves: 2)
      try stack.read { context in
        let leaf = try context.one("Leaf", where: equal("name", "orchard 0 1"))
        let other = try unwrap(
          try context.fetchIDs(FetchRequest<ManagedObject>(entityName: "Leaf")).first { $0 != leaf.objectID })
        try deleteOrchard(context)
        try context.processPendingChanges()
        try expect(leaf.isDeleted, "the registered object to be deleted")
        try expect(context.registeredObject(with: other) == nil, "no object of the other leaf")
        try expectThrows(.objectDeleted) { try context.existingObject(with: other) }
        let late = context.object(with: other)
        try expect(late.isDeleted, "the late object to be deleted")
        try expectThrows(.objectDeleted) { try late.setValue("x", for: "name") }
        try expectEqual(context.deletedObjects.map(\.entity.name).sorted(), ["Leaf", "Leaf", "Orchard", "Tree"])
        try expect(context.deletedObjects.contains(late), "one object of the leaf")
        try context.save()
        try expect(late.managedObjectContext == nil && leaf.managedObjectContext == nil, "no context")
        try expect(!context.hasChanges, "nothing left")
      }
      try expectNothingLeft(stack)
    }
    Case("participants are shown the records of a cascade with their former rows", model: Orchards.model) { stack in
      try Orchards.plant(stack, trees: 2, leaves: 2)
      let keeper = TrailKeeper(of: "Leaf", "Tree")
      stack.coordinator.addSaveParticipant(keeper)
      try stack.write { try deleteOrchard($0) }
      try expectEqual(keeper.changes.map(\.entity.name).sorted(), ["Leaf", "Leaf", "Leaf", "Leaf", "Tree", "Tree"])
      try expectEqual(Set(keeper.changes.map(\.kind)), [.deleted])
      let names = try keeper.changes.map { change in
        change.base?[try unwrap(change.entity.attribute(named: "name")).slot]
      }
      try expect(names.contains(.string("orchard 1 1")), "the former values")
      try expectEqual(try stack.read { try $0.number(of: "Trail") }, 6)
    }
  }

  @CasesBuilder private static var rulesBelow: [Case] {
    Case("a deny below a cascade refuses the save, and nothing is deleted", model: Orchards.model) { stack in
      try Orchards.plant(stack, trees: 3, leaves: 2)
      try stack.write { context in
        let tree = try context.one("Tree", where: equal("name", "orchard 1"))
        try context.make("Nest", ["name": "n"]).setObject(tree, for: "tree")
      }
      try stack.read { context in
        try deleteOrchard(context)
        let error = try expectThrows(.deleteDenied) { try context.save() }
        try expectEqual(error.failures.map(\.propertyName), ["nests"])
        try expectEqual(error.failures.map(\.entityName), ["Tree"])
      }
      try stack.read { context in
        try expectEqual(try context.number(of: "Tree"), 3)
        try expectEqual(try context.number(of: "Leaf"), 6)
      }
      try stack.write { context in
        try deleteOrchard(context)
        context.delete(try context.one("Nest"))
      }
      try expectNothingLeft(stack)
    }
    Case("a deny below a cascade counts unsaved members", model: Orchards.model) { stack in
      try Orchards.plant(stack, trees: 1, leaves: 0)
      try stack.write { context in
        try context.make("Nest", ["name": "n"]).setObject(try context.one("Tree"), for: "tree")
      }
      try stack.write { context in
        try context.one("Nest").setObject(nil, for: "tree")
        try deleteOrchard(context)
      }
      try expectNothingLeft(stack)
      try expectEqual(try stack.read { try $0.number(of: "Nest") }, 1)
    }
    Case("related records of other entities forget the records of a cascade", model: Orchards.model) { stack in
      try Orchards.plant(stack, trees: 2, leaves: 1)
      try stack.write { context in
        let gardener = try context.make("Gardener", ["name": "g"])
        let mark = try context.make("Mark", ["name": "m"])
        for tree in try context.all("Tree") {
          try tree.setObject(gardener, for: "gardener")
          try tree.setObjects([mark], for: "tags")
          try context.make("Bird", ["name": "b"]).setObject(tree, for: "tree")
        }
        try context.make("Tree", ["name": "kept"]).setObject(gardener, for: "gardener")
      }
      try stack.read { context in
        let (gardener, mark) = (try context.one("Gardener"), try context.one("Mark"))
        try expectEqual(try gardener.objects(for: "trees").count, 3)
        try deleteOrchard(context)
        try context.processPendingChanges()
        try expectEqual(try gardener.labels(of: "trees"), ["kept"])
        try expectEqual(try mark.labels(of: "trees"), [])
        try context.save()
        try expectEqual(try gardener.labels(of: "trees"), ["kept"])
      }
      try stack.read { context in
        for bird in try context.all("Bird") { try expectEqual(try bird.value(for: "tree"), .null) }
        try expectEqual(try context.one("Gardener").labels(of: "trees"), ["kept"])
        try expectEqual(try context.one("Mark").labels(of: "trees"), [])
      }
    }
    Case("cascades in both directions of one relationship end", model: Orchards.model) { stack in
      try Orchards.plant(stack, trees: 4, leaves: 2)
      try stack.write { context in
        let trees = try context.all("Tree", sort: [SortKey("name")])
        for index in trees.indices { try trees[index].setObject(trees[(index + 1) % trees.count], for: "twin") }
        for tree in trees.dropFirst() { try tree.setObject(nil, for: "orchard") }
      }
      let count = try ObjectCount.counting { try stack.write { try deleteOrchard($0) } }
      try expectEqual(count.made, [])
      try expectNothingLeft(stack)
    }
  }

  @CasesBuilder private static var unsavedBelow: [Case] {
    Case("a cascade follows unsaved changes of members", model: Orchards.model) { stack in
      try Orchards.plant(stack, trees: 1, leaves: 4)
      try Orchards.plant(stack, trees: 1, leaves: 0, name: "other")
      try stack.write { context in
        func leaf(_ number: Int) throws -> ManagedObject {
          try context.one("Leaf", where: equal("name", "orchard 0 \(number)"))
        }
        let tree = try context.one("Tree", where: equal("name", "orchard 0"))
        let other = try context.one("Tree", where: equal("name", "other 0"))
        try context.make("Leaf", ["name": "new"]).setObject(tree, for: "tree")
        try leaf(0).setObject(other, for: "tree")
        try leaf(1).setValue("changed", for: "name")
        context.delete(try leaf(2))
        try deleteOrchard(context)
      }
      try stack.read { context in
        try expectEqual(try context.names("Leaf"), ["orchard 0 0"])
        try expectEqual(try context.names("Tree"), ["other 0"])
      }
    }
    Case("a cascade reaches members of a tree that was moved here unsaved", model: Orchards.model) { stack in
      try Orchards.plant(stack, trees: 1, leaves: 3, name: "other")
      try Orchards.plant(stack, trees: 0, leaves: 0)
      try stack.write { context in
        let orchard = try context.one("Orchard", where: equal("name", "orchard"))
        try context.one("Tree").setObject(orchard, for: "orchard")
        try deleteOrchard(context)
      }
      try stack.read { context in
        try expectEqual(try context.names("Orchard"), ["other"])
        try expectEqual(try context.number(of: "Leaf"), 0)
      }
    }
  }

  @CasesBuilder private static var takenBack: [Case] {
    Case("a rollback takes the deletes of a cascade back", model: Orchards.model) { stack in
      try Orchards.plant(stack, trees: 2, leaves: 2)
      try stack.read { context in
        try deleteOrchard(context)
        try expectEqual(try context.number(of: "Leaf"), 0)
        let late = try unwrap(context.deletedObjects.first { $0.entity.name == "Leaf" })
        context.rollback()
        try expect(!context.hasChanges, "nothing to save")
        try expect(!late.isDeleted, "the late object to be saved")
        try expectEqual(try context.number(of: "Leaf"), 4)
        try expectEqual(try context.one("Tree", where: equal("name", "orchard 0")).objects(for: "leaves").count, 2)
      }
    }
    Case("a save that fails keeps the deletes of a cascade", model: Orchards.model) { stack in
      let interposition = try stack.interpose()
      try Orchards.plant(stack, trees: 2, leaves: 2)
      try stack.read { context in
        try deleteOrchard(context)
        interposition.beforeSave { _ in throw CoherenceError(.inputOutput, "The disk is full.") }
        try expectThrows(.inputOutput) { try context.save() }
        try expectEqual(try context.number(of: "Leaf"), 0)
        interposition.beforeSave(nil)
        try context.save()
      }
      try expectNothingLeft(stack)
    }
    Case("an undo takes the deletes of a cascade back", model: Orchards.model) { stack in
      try Orchards.plant(stack, trees: 2, leaves: 2)
      let context = stack.context()
      let history = try context.performAndWait { context in
        let history = UndoHistory()
        context.undoHistory = history
        try deleteOrchard(context)
        try context.processPendingChanges()
        return history
      }
      try context.performAndWait { context in
        try history.undo()
        try expectEqual(try context.number(of: "Leaf"), 4)
        try context.save()
      }
      try expectEqual(try stack.read { try $0.number(of: "Leaf") }, 4)
    }
  }

  @CasesBuilder private static var otherContexts: [Case] {
    Case("a child's cascade reaches its parent without objects, and the store by the parent", model: Orchards.model) {
      stack in
      try Orchards.plant(stack, trees: 2, leaves: 2)
      let parent = stack.context()
      let child = ManagedObjectContext(parent: parent)
      let count = try ObjectCount.counting {
        try child.performAndWait {
          try deleteOrchard(child)
          try child.save()
          try expectEqual(try child.number(of: "Leaf"), 0)
        }
        try expectEqual(try stack.read { try $0.number(of: "Leaf") }, 4)
        try parent.performAndWait {
          try expectEqual(try parent.number(of: "Tree"), 0)
          try parent.save()
        }
      }
      try expectEqual(count.made, [])
      try expectNothingLeft(stack)
    }
    Case("a child's cascade includes the unsaved members of its parent", model: Orchards.model) { stack in
      try Orchards.plant(stack, trees: 1, leaves: 1)
      try Orchards.plant(stack, trees: 1, leaves: 1, name: "other")
      let parent = stack.context()
      try parent.performAndWait {
        let tree = try parent.one("Tree", where: equal("name", "orchard 0"))
        try parent.make("Leaf", ["name": "new"]).setObject(tree, for: "tree")
        try parent.one("Leaf", where: equal("name", "other 0 0")).setObject(tree, for: "tree")
      }
      let child = ManagedObjectContext(parent: parent)
      try child.performAndWait {
        try deleteOrchard(child)
        try child.save()
      }
      try parent.performAndWait {
        try expectEqual(try parent.number(of: "Leaf"), 0)
        try parent.save()
      }
      try expectNothingLeft(stack, ["Leaf"])
    }
    Case("a change of another context conflicts with the delete by a cascade", model: Orchards.model) { stack in
      for (policy, isRefused) in [(MergePolicy.error, true), (.overwrite, false)] {
        try Orchards.plant(stack, trees: 1, leaves: 2)
        let context = stack.context(policy)
        try context.performAndWait {
          try deleteOrchard(context)
          try context.processPendingChanges()
          try stack.write {
            try $0.one("Leaf", where: equal("name", "orchard 0 0")).setValue("changed", for: "name")
          }
          guard isRefused else { return try context.save() }
          try expectThrows(.versionConflict) { try context.save() }
        }
        try expectEqual(try stack.read { try $0.number(of: "Leaf") }, isRefused ? 2 : 0)
        try stack.write { context in for orchard in try context.all("Orchard") { context.delete(orchard) } }
      }
    }
    Case("a delete by another context takes a record out of a cascade", model: Orchards.model) { stack in
      try Orchards.plant(stack, trees: 3, leaves: 0)
      let context = stack.context()
      try context.performAndWait {
        try deleteOrchard(context)
        try context.processPendingChanges()
      }
      let other = stack.context()
      var changes = other.didSaveChanges.makeAsyncIterator()
      try other.performAndWait {
        other.delete(try other.one("Tree", where: equal("name", "orchard 0")))
        try other.save()
      }
      context.mergeChanges(fromContextDidSave: try unwrap(await changes.next()))
      try context.performAndWait { try context.save() }
      try expectNothingLeft(stack)
    }
    Case("followers and live results are told of the deletes of a cascade", model: Orchards.model) { stack in
      try Orchards.plant(stack, trees: 2, leaves: 2)
      let context = stack.context()
      let leaves = FetchRequest<ManagedObject>(entityName: "Leaf").sort("name")
      let list = try FollowedList(leaves, in: context)
      let own = try FollowedList(leaves, in: stack.context())
      let ids = try stack.read { try $0.fetchIDs(leaves) }
      try list.expectTitles(["orchard 0 0", "orchard 0 1", "orchard 1 0", "orchard 1 1"])
      let writer = stack.context()
      var saves = writer.didSaveChanges.makeAsyncIterator()
      var announced = writer.objectsDidChange.makeAsyncIterator()
      try writer.performAndWait {
        try deleteOrchard(writer)
        try writer.save()
      }
      try list.expectTitles([])
      try own.expectTitles([])
      let (saved, changed) = (await saves.next(), await announced.next())
      try expect(Set(ids).isSubset(of: try unwrap(saved).deleted), "the leaves to be listed")
      try expect(Set(ids).isSubset(of: try unwrap(changed).deleted), "the leaves to be announced")
    }
  }
}
