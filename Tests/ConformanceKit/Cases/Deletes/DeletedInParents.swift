import CoherenceCore

extension ConformanceSubject {
  /// A child's changes of records that are deleted in its parent are conflicts, as those in a store are.
  @CasesBuilder static var deletedInParents: [Case] {
    Case("a child's edit of a record that its parent deleted is a conflict with the ancestor and mine") { stack in
      try conflict(stack) { parent, child, album in
        let error = try expectThrows(.versionConflict) { try child.save() }
        try expectEqual(error.objectIDs, [album.objectID])
        let conflict = try unwrap(error.conflicts.first, "a conflict")
        let slot = try unwrap(album.entity.attribute(named: "title")).slot
        try expectEqual(conflict.ancestor?[slot], .string("A"))
        try expectEqual(conflict.mine?[slot], .string("child's"))
        try expect(conflict.store == nil, "no row of the deleted record")
        try expect(child.hasChanges && parent.deletedObjects.count == 1, "both contexts as they were")
      }
    }
    Case("with the store's win, a child's edit of a record that its parent deleted is discarded") { stack in
      try conflict(stack) { parent, child, album in
        child.mergePolicy = .storeTrumps
        try child.make("Album", ["title": "B"])
        try child.save()
        try expect(album.isDeleted && !child.hasChanges, "the object to have left the child")
        try expectEqual(try parent.names("Album"), ["B"])
        try parent.save()
      }
      try stack.read { try expectEqual(try $0.names("Album"), ["B"]) }
    }
    Case("a record that its parent deleted leaves the lists of a child with the edit that the child's policy discards")
    {
      stack in
      try stack.write { context in
        try context.make("Album", ["title": "A"]).setObject(try context.make("Artist", ["name": "M"]), for: "artist")
      }
      let parent = stack.context()
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
      child.mergePolicy = .storeTrumps
      try child.performAndWait {
        let artist = try unwrap(try child.one("Artist") as? Performer)
        try expectEqual(try artist.labels(of: "albums"), ["A"])
        try child.one("Album").setValue(7, for: "year")
        try parent.performAndWait {
          parent.delete(try parent.one("Album"))
          try parent.processPendingChanges()
        }
        try child.save()
        try expectEqual(artist.albums.count, 0, "the number of albums")
        try expectEqual(try artist.labels(of: "albums"), [])
      }
    }
    Case("with the object's win, a child's edit reverts its parent's delete, on both sides of the relationships") {
      stack in
      try conflict(stack) { parent, child, album in
        child.mergePolicy = .objectTrumps
        try child.save()
        try expectEqual(parent.deletedObjects.count, 0, "the number of deleted objects")
        try expectEqual(try parent.one("Album").label, "child's")
        for (owner, list) in [("Artist", "albums"), ("Genre", "albums")] {
          try expectEqual(try parent.one(owner).labels(of: list), ["child's"])
        }
        try parent.save()
      }
      try stack.reopen()
      try stack.read { context in
        let album = try context.one("Album")
        try expectEqual(try album.object(for: "artist")?.label, "M")
        try expectEqual(try album.labels(of: "genres"), ["g"])
        try expectEqual(try album.label, "child's")
      }
    }
    Case(
      "with the object's win, a child's edit reverts its parent's delete by a cascade, also of a record that a farther "
        + "parent deleted", model: Orchards.model
    ) { stack in
      try stack.write { context in
        try context.make("Fruit", ["name": "f"]).setObject(try context.make("Tree", ["name": "t"]), for: "tree")
      }
      let farther = stack.context()
      let parent = ManagedObjectContext(concurrencyType: .privateQueue, parent: farther)
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
      try farther.performAndWait {
        try parent.performAndWait {
          try child.performAndWait {
            let fruit = try child.one("Fruit")
            try fruit.setValue("child's", for: "name")
            // The cascade makes no object of the fruit, whose row alone names its entity within the hierarchy.
            parent.delete(try parent.one("Tree"))
            try parent.processPendingChanges()
            farther.delete(try farther.one("Fruit"))
            try farther.processPendingChanges()
            child.mergePolicy = .objectTrumps
            try child.save()
            let own = try parent.existingObject(with: fruit.objectID)
            try expectEqual(try own.value(for: "name", as: String.self), "child's")
            try expectEqual(parent.deletedObjects.map(\.entity.name), ["Tree"])
          }
        }
      }
    }
    Case("with a policy in code, a child's edit of a record that its parent deleted gets the values of the policy") {
      stack in
      try conflict(stack) { parent, child, album in
        let slot = try unwrap(album.entity.attribute(named: "year")).slot
        child.mergePolicy = .custom { conflict in
          guard conflict.store == nil, var values = conflict.mine?.values else { return nil }
          values[slot] = .int(7)
          return values
        }
        try child.save()
        let own = try parent.one("Album")
        try expectEqual(try own.label, "child's")
        try expectEqual(try own.value(for: "year", as: Int?.self), 7)
        try parent.save()
      }
    }
    Case("a child's edit of a record that another writer deleted is a conflict in the child, and in its parent") {
      stack in
      try stack.write { try $0.make("Album", ["title": "A"]) }
      let parent = stack.context()
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
      let album = try child.performAndWait {
        let album = try child.one("Album")
        try album.setValue("child's", for: "title")
        return album
      }
      try stack.write { $0.delete(try $0.one("Album")) }
      try child.performAndWait {
        try expectThrows(.versionConflict) { try child.save() }
        child.mergePolicy = .objectTrumps
        try child.save()
        try expectEqual(try album.label, "child's")
      }
      try parent.performAndWait {
        try expectThrows(.versionConflict) { try parent.save() }
        parent.mergePolicy = .objectTrumps
        try parent.save()
      }
      try stack.read { try expectEqual(try $0.names("Album"), ["child's"]) }
    }
    Case("a child's delete of a record that another writer deleted is a conflict, which a policy resolves") { stack in
      try stack.write { try $0.make("Album", ["title": "A"]) }
      let parent = stack.context()
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
      try child.performAndWait { child.delete(try child.one("Album")) }
      try stack.write { $0.delete(try $0.one("Album")) }
      try child.performAndWait {
        try expectThrows(.versionConflict) { try child.save() }
        try expect(child.hasChanges, "the delete to stay")
        child.mergePolicy = .objectTrumps
        try child.save()
        try expect(!child.hasChanges, "nothing to save")
      }
      try parent.performAndWait { try parent.save() }
    }
  }

  /// Lets a child edit an album with relationships, and its parent delete the album without a save.
  private static func conflict(
    _ stack: ConformanceStack,
    _ body: (_ parent: ManagedObjectContext, _ child: ManagedObjectContext, _ album: ManagedObject) throws -> Void
  ) throws {
    try stack.write { context in
      let album = try context.make("Album", ["title": "A"])
      try album.setObject(try context.make("Artist", ["name": "M"]), for: "artist")
      try album.setObjects([try context.make("Genre", ["name": "g"])], for: "genres")
    }
    let parent = stack.context()
    let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
    try parent.performAndWait {
      try child.performAndWait {
        let album = try child.one("Album")
        try album.setValue("child's", for: "title")
        parent.delete(try parent.one("Album"))
        try parent.processPendingChanges()
        try body(parent, child, album)
      }
    }
  }
}
