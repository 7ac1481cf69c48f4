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
