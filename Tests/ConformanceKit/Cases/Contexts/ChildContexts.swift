import CoherenceCore

extension ConformanceSubject {
  static let childContexts = ConformanceSubject("Child contexts") {
    down
    followers
    up
    deep
    savesForChildren
    editsOnParentsEdits
  }

  private static func child(of parent: ManagedObjectContext) -> ManagedObjectContext {
    ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
  }

  @CasesBuilder private static var followers: [Case] {
    Case("a follower of a context sees what a child of the context saves past it, and batch requests of the child") {
      stack in
      try stack.write { try $0.make("Album", ["title": "A", "year": 1]) }
      let (parent, follower) = (stack.context(), stack.context())
      follower.follow(parent)
      let child = child(of: parent)
      child.savesPastParent = true
      let album = try follower.performAndWait { try follower.one("Album") }
      try child.performAndWait {
        try child.one("Album").setValue(2, for: "year")
        try child.save()
      }
      try follower.performAndWait { try expectEqual(try album.value(for: "year"), AttributeValue.int(2)) }
      try child.performAndWait {
        _ = try child.execute(BatchUpdateRequest(entityName: "Album", values: ["year": 3]))
      }
      try follower.performAndWait { try expectEqual(try album.value(for: "year"), AttributeValue.int(3)) }
    }
  }

  @CasesBuilder private static var down: [Case] {
    Case("a refresh of a child's edited record shows the parent's later edits of other properties") { stack in
      try stack.write { try $0.make("Album", ["title": "A", "year": 1]) }
      let parent = stack.context()
      let child = child(of: parent)
      let album = try child.performAndWait {
        let album = try child.one("Album")
        try album.setValue(2, for: "year")
        return album
      }
      for (title, refresh) in [("B", 0), ("C", 1), ("D", 2)] {
        try parent.performAndWait { try parent.one("Album").setValue(title, for: "title") }
        try child.performAndWait {
          // The last refresh finds an edit that was set back.
          if refresh == 2 { try album.setValue(1, for: "year") }
          refresh == 0 ? child.refresh(album, mergeChanges: true) : child.refreshAll()
          try expectEqual(try album.label, title)
          try expectEqual(try album.value(for: "year"), AttributeValue.int(refresh == 2 ? 1 : 2))
        }
      }
    }
    Case("a child sees unsaved changes of its parent") { stack in
      try stack.write { try $0.make("Album", ["title": "A"]) }
      try stack.nested { parent, child in
        try parent.one("Album").setValue("X", for: "title")
        try parent.make("Album", ["title": "B"])
        try expectEqual(try child.names("Album"), ["B", "X"])
        try expectEqual(try child.number(of: "Album", where: equal("title", "X")), 1)
      }
    }
    Case("a child sees unsaved changes of its parent after a save of another property past the parent") { stack in
      try stack.write { try $0.make("Album", ["title": "A", "year": 1]) }
      try stack.nested { parent, child in
        child.savesPastParent = true
        try parent.one("Album").setValue("parent's", for: "title")
        let album = try child.one("Album")
        try album.setValue(2, for: "year")
        try child.save()
        try expectEqual(try album.label, "parent's")
        try expectEqual(try child.names("Album", where: equal("title", "parent's")), ["parent's"])
        try expectEqual(try stack.read { try $0.names("Album", where: equal("year", 2)) }, ["A"])
        try album.setValue(3, for: "year")
        try child.save()
        try expectEqual(try stack.read { try $0.names("Album", where: equal("year", 3)) }, ["A"])
        // A value that the child has saved itself stays, although the parent has edited it too.
        try album.setValue("child's", for: "title")
        try child.save()
        try expectEqual(try album.label, "child's")
        parent.rollback()
        child.refreshAll()
        try expectEqual(try album.label, "child's")
      }
    }
    Case("a child saves past a parent with an unsaved target, after its own save and another writer's") { stack in
      try stack.write { try $0.make("Album", ["title": "A", "year": 1]) }
      try stack.nested { parent, child in
        (child.savesPastParent, child.mergePolicy) = (true, .objectTrumps)
        try parent.one("Album").setObject(try parent.make("Artist", ["name": "M"]), for: "artist")
        let album = try child.one("Album")
        try album.setValue(2, for: "year")
        try child.save()
        try expectEqual(try album.object(for: "artist")?.label, "M")
        try stack.write { try $0.one("Album").setValue("B", for: "title") }
        try album.setValue(3, for: "year")
        try child.save()
        try stack.read { context in
          try expectEqual(try context.names("Album", where: equal("year", 3)), ["B"])
          try expectEqual(try context.one("Album").object(for: "artist"), nil)
        }
        parent.mergePolicy = .objectTrumps
        try parent.save()
        try stack.read { try expectEqual(try $0.one("Album").object(for: "artist")?.label, "M") }
      }
    }
    Case("a child sees unsaved changes of its parent after another writer's save of another property") { stack in
      try stack.write { try $0.make("Album", ["title": "A", "year": 1]) }
      let writer = stack.context()
      let parent = stack.context()
      parent.follow(writer)
      let child = child(of: parent)
      child.follow(writer)
      let album = try parent.performAndWait {
        try parent.one("Album").setValue("parent's", for: "title")
        return try child.performAndWait { try child.one("Album") }
      }
      try writer.performAndWait {
        try writer.one("Album").setValue(2, for: "year")
        try writer.save()
      }
      try child.performAndWait {
        try expectEqual(try album.label, "parent's")
        try expectEqual(try album.value(for: "year", as: Int.self), 2)
      }
      try parent.performAndWait {
        parent.rollback()
        try child.performAndWait {
          child.refreshAll()
          try expectEqual(try album.label, "A")
        }
      }
    }
    Case("a record that a parent has changed and changed back is the stored record in a child") { stack in
      try stack.write { context in for title in ["A", "B"] { try context.make("Album", ["title": title, "year": 1]) } }
      let parent = stack.context()
      let (child, other) = (child(of: parent), child(of: parent))
      let ids = try parent.performAndWait {
        let albums = try parent.all("Album", sort: [SortKey("title")])
        for (album, title) in zip(albums, ["A", "B"]) {
          try album.setValue("X", for: "title")
          try album.setValue(title, for: "title")
        }
        return albums.map(\.objectID)
      }
      let list = FetchedResultsController(
        fetchRequest: FetchRequest<ManagedObject>(entityName: "Album").sort("title"), managedObjectContext: child)
      try child.performAndWait { try list.performFetch() }
      try stack.write { context in
        context.delete(try context.one("Album", where: equal("title", "A")))
        try context.one("Album", where: equal("title", "B")).setValue(2, for: "year")
      }
      try child.performAndWait {
        try expectEqual(try list.fetchedObjects.map { try $0.label }, ["B"])
        try expectEqual(try child.names("Album"), ["B"])
      }
      try other.performAndWait {
        try expectEqual(try other.existing(ids[1]).value(for: "year", as: Int.self), 2)
        try expectThrows(.objectNotFound) { _ = try other.existing(ids[0]) }
      }
    }
    Case("a child does not see objects that its parent deleted") { stack in
      try stack.write { context in for title in ["A", "B"] { try context.make("Album", ["title": title]) } }
      try stack.nested { parent, child in
        parent.delete(try parent.one("Album", where: equal("title", "A")))
        try parent.processPendingChanges()
        try expectEqual(try child.names("Album"), ["B"])
      }
    }
    Case("a child sees unsaved relationships of its parent") { stack in
      try stack.write { context in
        try context.make("Artist", ["name": "M"])
        try context.make("Album", ["title": "A"])
      }
      try stack.nested { parent, child in
        try parent.one("Album").setObject(try parent.one("Artist"), for: "artist")
        try expectEqual(try child.one("Artist").labels(of: "albums"), ["A"])
        try expectEqual(try child.one("Album").object(for: "artist")?.label, "M")
        try expectEqual(try child.names("Album", where: equal("artist.name", "M")), ["A"])
      }
    }
    Case("a record is another object in a child, of the same identifier") { stack in
      try stack.nested { parent, child in
        let album = try parent.make("Album", ["title": "A"])
        let same = try child.existingObject(with: album.objectID)
        try expect(album !== same, "two instances")
        try expectEqual(album.objectID, same.objectID)
        try expectEqual(try same.label, "A")
      }
    }
  }

  @CasesBuilder private static var up: [Case] {
    Case("a child's changes reach the parent when it saves and the store when the parent does") { stack in
      try stack.write { context in for title in ["A", "B"] { try context.make("Album", ["title": title]) } }
      try stack.nested { parent, child in
        try child.one("Album", where: equal("title", "A")).setValue("X", for: "title")
        child.delete(try child.one("Album", where: equal("title", "B")))
        try child.make("Album", ["title": "C"])
        try expectEqual(try parent.names("Album"), ["A", "B"])
        try child.save()
        try expectEqual(try parent.names("Album"), ["C", "X"])
        try expect(parent.hasChanges && !child.hasChanges, "the parent to have the changes")
        try stack.read { try expectEqual(try $0.names("Album"), ["A", "B"]) }
        try parent.save()
        try stack.read { try expectEqual(try $0.names("Album"), ["C", "X"]) }
      }
    }
    Case("a child saves changes of a record that got its permanent identifier from the parent after the edit") {
      stack in
      let parent = stack.context()
      let child = child(of: parent)
      try parent.performAndWait { try parent.make("Album", ["title": "A"]) }
      for isNested in [true, false] {
        try child.performAndWait {
          try child.one("Album").setValue("B\(isNested)", for: "title")
          if isNested {
            try parent.performAndWait { try parent.obtainPermanentIDs(for: [try parent.one("Album")]) }
            try child.save()
          }
        }
        try parent.performAndWait { if !isNested { try parent.save() } }
        try child.performAndWait { try child.save() }
        try parent.performAndWait {
          try expectEqual(try parent.names("Album"), ["B\(isNested)"])
          try parent.save()
        }
      }
      try stack.read { try expectEqual(try $0.names("Album"), ["Bfalse"]) }
    }
    Case("a child's relationships reach parent and store") { stack in
      try stack.nested { parent, child in
        let artist = try child.make("Artist", ["name": "M"])
        let album = try child.make("Album", ["title": "A"])
        let tracks = try ["2", "1"].map { try child.make("Track", ["title": $0]) }
        try album.setObject(artist, for: "artist")
        try album.setObjects(tracks, for: "tracks")
        try album.setObjects([try child.make("Genre", ["name": "Jazz"])], for: "genres")
        try child.save()
        try expectEqual(try parent.one("Album").labels(of: "tracks"), ["2", "1"])
        try expectEqual(try parent.one("Genre").labels(of: "albums"), ["A"])
        try parent.save()
      }
      try stack.reopen()
      try stack.read { context in
        let album = try context.one("Album")
        try expectEqual(try album.object(for: "artist")?.label, "M")
        try expectEqual(try album.labels(of: "tracks"), ["2", "1"])
        try expectEqual(try album.labels(of: "genres"), ["Jazz"])
      }
    }
    Case("a child's changes of the members of saved records reach parent and store") { stack in
      try stack.write { context in
        let album = try context.make("Album", ["title": "A"])
        let genres = try ["Jazz", "Modal", "Rock"].map { try context.make("Genre", ["name": $0]) }
        try album.setObjects(Array(genres.prefix(2)), for: "genres")
        try album.setObjects(try ["1", "2"].map { try context.make("Track", ["title": $0]) }, for: "tracks")
        try context.make("Track", ["title": "3"])
      }
      try stack.nested { parent, child in
        let album = try child.one("Album")
        let genres = try ["Modal", "Rock"].map { try child.one("Genre", where: equal("name", $0)) }
        try album.setObjects(genres, for: "genres")
        let tracks = try ["3", "1"].map { try child.one("Track", where: equal("title", $0)) }
        try album.setObjects(tracks, for: "tracks")
        try child.save()
        try expectEqual(try parent.one("Album").labels(of: "genres"), ["Modal", "Rock"])
        try expectEqual(try parent.one("Album").labels(of: "tracks"), ["3", "1"])
        try expectEqual(try parent.one("Genre", where: equal("name", "Jazz")).labels(of: "albums"), [])
        try expectEqual(try parent.one("Genre", where: equal("name", "Rock")).labels(of: "albums"), ["A"])
        try parent.save()
      }
      try stack.read { context in
        try expectEqual(try context.one("Album").labels(of: "genres"), ["Modal", "Rock"])
        try expectEqual(try context.one("Album").labels(of: "tracks"), ["3", "1"])
        try expectEqual(try context.one("Genre", where: equal("name", "Jazz")).labels(of: "albums"), [])
      }
    }
    Case("a new record of a child gets its permanent identifier when the parent saves") { stack in
      try stack.nested { parent, child in
        let album = try child.make("Album", ["title": "A"])
        let temporary = album.objectID
        try child.save()
        try parent.save()
        let id = try parent.one("Album").objectID
        try expect(!id.isTemporaryID, "a permanent identifier")
        try expectEqual(try parent.existingObject(with: temporary).objectID, id)
        try album.setValue("B", for: "title")
        try child.save()
        try parent.save()
      }
      try stack.read { try expectEqual(try $0.names("Album"), ["B"]) }
    }
    Case("a child is validated when it saves") { stack in
      try stack.nested { parent, child in
        try child.make("Album")
        try expectThrows(.validationFailed) { try child.save() }
        try expect(!parent.hasChanges && child.hasChanges, "nothing to reach the parent")
      }
    }
    Case("a child's changes win over its parent's of the same property") { stack in
      try stack.write { try $0.make("Album", ["title": "A", "year": 1]) }
      try stack.nested { parent, child in
        try child.one("Album").setValue("child", for: "title")
        let album = try parent.one("Album")
        try album.setValue(2, for: "year")
        try child.save()
        try expectEqual(try album.label, "child")
        try expectEqual(try album.value(for: "year"), AttributeValue.int(2))
      }
    }
    Case("a child's rollback does not change its parent") { stack in
      try stack.nested { parent, child in
        try parent.make("Album", ["title": "A"])
        try child.one("Album").setValue("X", for: "title")
        child.rollback()
        try expectEqual(try child.names("Album"), ["A"])
        try expectEqual(try parent.names("Album"), ["A"])
      }
    }
    Case("a parent's rollback reverts the changes that a child saved") { stack in
      try stack.write { try $0.make("Album", ["title": "A"]) }
      try stack.nested { parent, child in
        try child.one("Album").setValue("X", for: "title")
        try child.save()
        parent.rollback()
        try expectEqual(try parent.names("Album"), ["A"])
        try expect(!parent.hasChanges, "nothing to save")
      }
    }
    Case("delete rules work in a child") { stack in
      try stack.write { try Music.fill($0) }
      try stack.nested { parent, child in
        child.delete(try child.one("Album", where: equal("title", "Kind of Blue")))
        try child.save()
        try expectEqual(try parent.number(of: "Track", where: equal("title", "So What")), 0)
        try parent.save()
      }
      try stack.read { try expectEqual(try $0.number(of: "Track", where: equal("title", "So What")), 0) }
    }
  }

  @CasesBuilder private static var deep: [Case] {
    Case("changes travel through three generations of contexts") { stack in
      let root = stack.context()
      let middle = child(of: root)
      let leaf = child(of: middle)
      try leaf.performAndWait {
        try leaf.make("Album", ["title": "A"])
        try leaf.save()
      }
      try middle.performAndWait {
        try expectEqual(try middle.names("Album"), ["A"])
        try middle.save()
      }
      try root.performAndWait { try root.save() }
      try stack.read { try expectEqual(try $0.names("Album"), ["A"]) }
    }
    Case("two children see each other's changes through the parent") { stack in
      let parent = stack.context()
      let children = [child(of: parent), child(of: parent)]
      try children[0].performAndWait {
        try children[0].make("Album", ["title": "A"])
        try children[0].save()
      }
      try children[1].performAndWait {
        try expectEqual(try children[1].names("Album"), ["A"])
        try children[1].one("Album").setValue("B", for: "title")
        try children[1].save()
      }
      try parent.performAndWait {
        try expectEqual(try parent.names("Album"), ["B"])
        try parent.save()
      }
    }
    Case("a child of a parent without a store throws") { _ in
      let parent = ManagedObjectContext(concurrencyType: .privateQueue)
      let child = child(of: parent)
      try child.performAndWait {
        _ = try expectThrows(.contextWithoutStore) { try child.insertNewObject(forEntityName: "Album") }
      }
    }
  }
}
