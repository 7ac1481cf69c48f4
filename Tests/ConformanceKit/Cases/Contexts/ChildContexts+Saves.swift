import CoherenceCore

extension ConformanceSubject {
  /// Saves that reach a child: those of its parents, and those that its parents follow.
  @CasesBuilder static var savesForChildren: [Case] {
    Case("the objects and lists of a child show the saves of a context that its parent follows") { stack in
      try expectFollowed(stack) { parent in ManagedObjectContext(concurrencyType: .privateQueue, parent: parent) }
    }
    Case("the objects and lists of a child of a child show the saves of a context that the farthest parent follows") {
      stack in
      try expectFollowed(stack) { parent in
        ManagedObjectContext(
          concurrencyType: .privateQueue,
          parent: ManagedObjectContext(concurrencyType: .privateQueue, parent: parent))
      }
    }
    Case("the changes that a program merges into a parent show in the objects of a child") { stack in
      try stack.write { try $0.make("Album", ["title": "A"]) }
      let parent = stack.context()
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
      let (album, id) = try child.performAndWait {
        let album = try child.one("Album")
        try expectEqual(try album.label, "A")
        return (album, album.objectID)
      }
      try stack.write { try $0.one("Album").setValue("B", for: "title") }
      var changes = ChangeSet()
      changes.refreshed = [id]
      parent.mergeChanges(fromContextDidSave: changes)
      try child.performAndWait { try expectEqual(try album.label, "B") }
    }
    Case("the objects and lists of a child show what its parent has saved into a parent of its own") { stack in
      try stack.write { context in
        let genres = try ["old", "new"].map { try context.make("Genre", ["name": $0]) }
        try context.make("Album", ["title": "A"]).setObjects([genres[0]], for: "genres")
      }
      let middle = ManagedObjectContext(concurrencyType: .privateQueue, parent: stack.context())
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: middle)
      let album = try child.performAndWait {
        let album = try child.one("Album")
        try expectEqual(try album.labels(of: "genres"), ["old"])
        return album
      }
      try middle.performAndWait {
        let own = try middle.one("Album")
        try own.setValue("B", for: "title")
        try own.setObjects([try middle.one("Genre", where: equal("name", "new"))], for: "genres")
        try middle.save()
      }
      try child.performAndWait {
        try expectEqual(try album.label, "B")
        try expectEqual(try album.labels(of: "genres"), ["new"])
      }
    }
    Case("a reset of a parent with waiting changes reads no store") { stack in
      try stack.write { try $0.make("Album", ["title": "A"]) }
      let interposition = try stack.interpose()
      let parent = stack.context()
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
      try parent.performAndWait {
        let album = try parent.one("Album")
        try album.setValue("B", for: "title")
        var changes = ChangeSet()
        changes.refreshed = [album.objectID]
        parent.mergeChanges(fromContextDidSave: changes)
        let count = interposition.fetchCount
        parent.reset()
        try expectEqual(interposition.fetchCount, count, "the number of reads")
      }
      withExtendedLifetime(child) {}
    }
    Case("a child with more waiting deletes than it lists keeps the object of a record that its parent may bring back")
    {
      stack in
      try stack.write { try $0.make("Album", ["title": "A"]) }
      let (writer, parent) = (stack.context(), stack.context())
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
      child.follow(writer)
      try writer.performAndWait {
        for number in 0...10_000 { try writer.make("Genre", ["name": "\(number)"]) }
        try writer.save()
      }
      let album = try child.performAndWait {
        let album = try child.one("Album")
        try expectEqual(try album.label, "A")
        return album
      }
      try parent.performAndWait {
        parent.delete(try parent.one("Album"))
        try parent.processPendingChanges()
      }
      try writer.performAndWait {
        for genre in try writer.all("Genre") { writer.delete(genre) }
        try writer.save()
      }
      child.performAndWait {}
      parent.performAndWait { parent.rollback() }
      try child.performAndWait {
        try expect(!album.isDeleted, "the object to be there")
        try expectEqual(try album.label, "A")
      }
    }
    Case("a child of a child follows references of its parent to records that a farther parent has saved") { stack in
      let root = stack.context()
      let middle = ManagedObjectContext(concurrencyType: .privateQueue, parent: root)
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: middle)
      try root.performAndWait { try root.make("Album", ["title": "A"]) }
      let album = try child.performAndWait { try child.one("Album") }
      try middle.performAndWait {
        try middle.make("Track", ["title": "T"]).setObject(try middle.one("Album"), for: "album")
        try root.performAndWait { try root.save() }
        try child.performAndWait {
          try expect(try child.one("Track").object(for: "album") === album, "the object with the new identifier")
        }
      }
      middle.performAndWait {}
      try child.performAndWait { try expect(try child.one("Track").object(for: "album") === album, "the same object") }
    }
    Case("a record that a parent and another writer have moved is in one list of a child") { stack in
      try stack.write { context in
        for name in ["M", "N", "O"] { try context.make("Artist", ["name": name]) }
        try context.make("Album", ["title": "A"]).setObject(
          try context.one("Artist", where: equal("name", "M")), for: "artist")
      }
      let (writer, parent) = (stack.context(), stack.context())
      parent.follow(writer)
      func move(to name: String, in context: ManagedObjectContext) throws {
        try context.one("Album").setObject(try context.one("Artist", where: equal("name", name)), for: "artist")
      }
      try parent.performAndWait { try move(to: "N", in: parent) }
      try writer.performAndWait {
        try move(to: "O", in: writer)
        try writer.save()
      }
      parent.performAndWait {}
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
      try child.performAndWait {
        let artists = try child.all("Artist", sort: [SortKey("name")])
        try expectEqual(try artists.map { try $0.labels(of: "albums") }, [[], ["A"], []])
        try expectEqual(try child.names("Artist", where: memberCount("albums", .greater, 0)), ["N"])
      }
    }
    Case("a child keeps its objects of records that a parent saves in the middle of the child's unit of work") {
      stack in
      for (isFarther, readsBefore, obtains) in [
        (false, false, false), (false, true, false), (false, false, true), (true, false, false), (true, true, false),
      ] {
        try expectObjectsKept(stack, ofFartherParent: isFarther, readsBefore: readsBefore, obtains: obtains)
        try stack.write { context in
          for object in try context.all("Album") + context.all("Artist") { context.delete(object) }
        }
      }
    }
    Case("a child finds the edits and deletes that its parent saves in the middle of the child's unit of work") {
      stack in
      try stack.write { context in for title in ["A", "B"] { try context.make("Album", ["title": title]) } }
      let parent = stack.context()
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
      try parent.performAndWait {
        try parent.one("Album", where: equal("title", "A")).setValue("C", for: "title")
        parent.delete(try parent.one("Album", where: equal("title", "B")))
        try parent.processPendingChanges()
      }
      try child.performAndWait {
        try expectEqual(try child.names("Album"), ["C"])
        try parent.performAndWait { try parent.save() }
        try expectEqual(try child.names("Album"), ["C"])
        try expectEqual(try child.number(of: "Album", where: equal("title", "C")), 1)
      }
    }
  }

  /// Saves the unsaved records of a parent while a descendant is in a unit of work, and expects that the descendant
  /// reads the saved records by the objects that it has of them.
  ///
  /// - Parameters:
  ///   - readsBefore: Whether the unit has read the store before the save.
  ///   - obtains: Whether the parent obtains the permanent identifiers, without a save.
  private static func expectObjectsKept(
    _ stack: ConformanceStack, ofFartherParent isFarther: Bool, readsBefore: Bool, obtains: Bool
  ) throws {
    let root = stack.context()
    let middle = ManagedObjectContext(concurrencyType: .privateQueue, parent: root)
    let child = isFarther ? ManagedObjectContext(concurrencyType: .privateQueue, parent: middle) : middle
    try root.performAndWait {
      try root.make("Album", ["title": "A"]).setObject(try root.make("Artist", ["name": "Nina"]), for: "artist")
    }
    let (album, artist) = try child.performAndWait { (try child.one("Album"), try child.one("Artist")) }
    try child.performAndWait {
      if readsBefore { try expectEqual(try child.number(of: "Genre"), 0) }
      try root.performAndWait {
        if obtains { try root.obtainPermanentIDs(for: Array(root.insertedObjects)) } else { try root.save() }
      }
      try expect(try child.one("Artist") === artist, "the same artist")
      try expect(try album.object(for: "artist") === artist, "the artist as the target")
      try expect(try child.existingObject(with: album.objectID) === album, "the same album by its identifier")
      try expect(!album.objectID.isTemporaryID, "a permanent identifier")
      try expect(try child.one("Album") === album, "the same album")
    }
    middle.performAndWait {}
    try child.performAndWait {
      try expect(
        album.managedObjectContext === child && artist.managedObjectContext === child, "objects of the context")
      try expectEqual(try album.label, "A")
      try expectEqual(try album.object(for: "artist")?.label, "Nina")
    }
  }

  /// Expects that a descendant of a context shows the saves of another context that this context follows.
  private static func expectFollowed(
    _ stack: ConformanceStack, _ makeDescendant: (ManagedObjectContext) -> ManagedObjectContext
  ) throws {
    try stack.write { context in
      let artist = try context.make("Artist", ["name": "M"])
      try context.make("Album", ["title": "A"]).setObject(artist, for: "artist")
    }
    let (writer, parent) = (stack.context(), stack.context())
    parent.follow(writer)
    let child = makeDescendant(parent)
    let (artist, album) = try child.performAndWait {
      let artist = try child.one("Artist")
      try expectEqual(try artist.labels(of: "albums"), ["A"])
      return (artist, try child.one("Album"))
    }
    try writer.performAndWait {
      try writer.one("Album").setValue("B", for: "title")
      try writer.make("Album", ["title": "C"]).setObject(try writer.one("Artist"), for: "artist")
      try writer.save()
    }
    try child.performAndWait {
      try expectEqual(try album.label, "B")
      try expectEqual(try artist.labels(of: "albums"), ["B", "C"])
    }
    try writer.performAndWait {
      writer.delete(try writer.one("Album", where: equal("title", "B")))
      try writer.save()
    }
    try child.performAndWait {
      try expect(album.isDeleted, "the object of the deleted record to have left the child")
      try expectEqual(try artist.labels(of: "albums"), ["C"])
    }
  }
}
