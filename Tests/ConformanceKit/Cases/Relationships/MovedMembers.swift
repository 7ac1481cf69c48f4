import CoherenceCore

/// Records that a context moves or deletes while another writer moves them: each is in the list of its owner alone.
extension ConformanceSubject {
  static let movedMembers = ConformanceSubject("Moved members") {
    refreshed
    resolved(by: "the store's win", .storeTrumps, owner: "O")
    resolved(by: "a rollback", .rollback, owner: "O")
    resolved(by: "the object's win", .objectTrumps, owner: "N")
    resolved(by: "overwriting", .overwrite, owner: "N")
    discardedDelete(by: "the store's win", .storeTrumps)
    discardedDelete(by: "a rollback", .rollback)
    deletedOwners
    changedByChildren
    outdatedLists
  }

  /// Saves an album of the first of three artists.
  private static func makeAlbum(_ stack: ConformanceStack) throws {
    try stack.write { context in
      let artists = try ["M", "N", "O"].map { try context.make("Artist", ["name": $0]) }
      try context.make("Album", ["title": "A"]).setObject(artists[0], for: "artist")
    }
  }

  private static func moveAlbum(to artist: String, in context: ManagedObjectContext) throws {
    try context.one("Album").setObject(try context.one("Artist", where: equal("name", artist)), for: "artist")
  }

  /// The numbers of albums of the three artists.
  private static func albumCounts(_ context: ManagedObjectContext) throws -> [Int] {
    try ["M", "N", "O"].map { name in
      try context.one("Artist", where: equal("name", name)).objects(for: "albums").count
    }
  }

  /// Gives the first artist a partner.
  private static func marry(to artist: String, in context: ManagedObjectContext) throws {
    let partner = try context.one("Artist", where: equal("name", artist))
    try context.one("Artist", where: equal("name", "M")).setObject(partner, for: "spouse")
  }

  /// The names of the partners of the three artists.
  private static func spouses(_ context: ManagedObjectContext) throws -> [String?] {
    try ["M", "N", "O"].map { name in
      try context.one("Artist", where: equal("name", name)).object(for: "spouse")?.label
    }
  }

  // MARK: Refreshes

  @CasesBuilder private static var refreshed: [Case] {
    Case("a record that two contexts move is in one list after its refresh, and after the save") { stack in
      try expectOneList(stack) { context, album in context.refresh(album, mergeChanges: true) }
    }
    Case("a record that two contexts move is in one list after a refresh of all objects, and after the save") { stack in
      try expectOneList(stack) { context, _ in context.refreshAll() }
    }
    Case("a record that two contexts move is in one list after more changes than an inbox lists, and after the save") {
      stack in
      try expectOneList(stack) { context, album in
        var changes = ChangeSet()
        changes.refreshed = Array(repeating: album.objectID, count: 20_000)
        context.mergeChanges(fromContextDidSave: changes)
      }
    }
    Case("a deleted record is in no list after a refresh of all objects, even if another writer has moved it there") {
      stack in
      try stack.write { context in
        let album = try context.make("Album", ["title": "A"])
        try album.setObjects([try context.make("Track", ["title": "t"])], for: "tracks")
        try context.make("Album", ["title": "B"])
        try context.make("Genre", ["name": "g"])
      }
      let context = stack.context()
      try context.performAndWait {
        for entity in ["Track", "Genre"] { context.delete(try context.one(entity)) }
        try context.processPendingChanges()
      }
      try stack.write { writer in
        let album = try writer.one("Album", where: equal("title", "B"))
        try album.setObjects([try writer.one("Track")], for: "tracks")
        try album.setObjects([try writer.one("Genre")], for: "genres")
      }
      try context.performAndWait {
        context.refreshAll()
        let album = try unwrap(try context.one("Album", where: equal("title", "B")) as? Album)
        try expectEqual([album.tracks.count, album.genres.count], [0, 0])
        try expectEqual([Array(album.tracks).count, Array(album.genres).count], [0, 0])
      }
    }
  }

  /// Moves a record here and in another context, and expects the record in the list of its owner here.
  ///
  /// - Parameter refresh: Shows the other writer's move below the move of the context.
  private static func expectOneList(
    _ stack: ConformanceStack, after refresh: (ManagedObjectContext, ManagedObject) throws -> Void
  ) throws {
    try makeAlbum(stack)
    let context = stack.context(.objectTrumps)
    let album = try context.performAndWait {
      try moveAlbum(to: "N", in: context)
      return try context.one("Album")
    }
    try stack.write { try moveAlbum(to: "O", in: $0) }
    try context.performAndWait { try refresh(context, album) }
    try context.performAndWait {
      try expectEqual(try albumCounts(context), [0, 1, 0], "the lists with the unsaved move")
      try context.save()
      try expectEqual(try albumCounts(context), [0, 1, 0], "the lists with the saved move")
    }
  }

  // MARK: Conflicts

  private static func resolved(by what: String, _ policy: MergePolicy, owner: String) -> Case {
    Case("after a conflict over a record's owner, resolved by \(what), the record is in its owner's list alone") {
      stack in
      try makeAlbum(stack)
      let context = stack.context(policy)
      try context.performAndWait {
        let artists = try context.all("Artist", sort: [SortKey("name")])
        func counts() throws -> [Int] { try artists.map { try $0.objects(for: "albums").count } }
        try expectEqual(try counts(), [1, 0, 0], "the lists before the moves")
        try moveAlbum(to: "N", in: context)
        try stack.write { try moveAlbum(to: "O", in: $0) }
        try context.save()
        try expectEqual(try context.one("Album").object(for: "artist")?.label, owner)
        try expectEqual(try counts(), owner == "N" ? [0, 1, 0] : [0, 0, 1], "the lists after the save")
      }
    }
  }

  private static func discardedDelete(by what: String, _ policy: MergePolicy) -> Case {
    Case("a record whose delete is discarded by \(what) returns to the lists that had it") { stack in
      try stack.write { context in
        let album = try context.make("Album", ["title": "A"])
        try album.setObject(try context.make("Artist", ["name": "M"]), for: "artist")
        try album.setObjects([try context.make("Genre", ["name": "g"])], for: "genres")
      }
      let context = stack.context(policy)
      try context.performAndWait {
        let (artist, genre) = (try context.one("Artist"), try context.one("Genre"))
        func counts() throws -> [Int] { try [artist, genre].map { try $0.objects(for: "albums").count } }
        try expectEqual(try counts(), [1, 1], "the lists before the delete")
        context.delete(try context.one("Album"))
        try context.processPendingChanges()
        try expectEqual(try counts(), [0, 0], "the lists with the unsaved delete")
        try stack.write { try $0.one("Album").setValue("B", for: "title") }
        try context.save()
        try expectEqual(try counts(), [1, 1], "the lists after the save")
      }
      try stack.read { try expectEqual(try $0.one("Album").labels(of: "genres"), ["g"]) }
    }
  }

  @CasesBuilder private static var deletedOwners: [Case] {
    Case("an owner that another writer deletes leaves a context that only moved its member away, after the save") {
      stack in
      try makeAlbum(stack)
      let (context, writer) = (stack.context(.objectTrumps), stack.context())
      context.follow(writer)
      let owner = try context.performAndWait {
        try moveAlbum(to: "N", in: context)
        return try context.one("Artist", where: equal("name", "M"))
      }
      try writer.performAndWait {
        writer.delete(try writer.one("Artist", where: equal("name", "M")))
        try writer.save()
      }
      try context.performAndWait { try context.save() }
      try context.performAndWait {
        try expect(owner.isDeleted, "the object of the deleted record")
        try expectEqual(try context.one("Album").object(for: "artist")?.label, "N")
        try expectEqual(try context.names("Artist"), ["N", "O"])
      }
    }
  }

  // MARK: Children

  @CasesBuilder private static var changedByChildren: [Case] {
    Case("a record that a child and another writer move is in one list of the parent") { stack in
      try makeAlbum(stack)
      let (parent, writer) = (stack.context(), stack.context())
      parent.follow(writer)
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
      try child.performAndWait { try moveAlbum(to: "N", in: child) }
      try writer.performAndWait {
        try moveAlbum(to: "O", in: writer)
        try writer.save()
      }
      try child.performAndWait { try child.save() }
      try parent.performAndWait { try expectEqual(try albumCounts(parent), [0, 1, 0]) }
    }
    Case("a record that a child and then its parent move without a save is in one list of the child") { stack in
      try makeAlbum(stack)
      let parent = stack.context()
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
      let grandchild = ManagedObjectContext(concurrencyType: .privateQueue, parent: child)
      try child.performAndWait { try moveAlbum(to: "N", in: child) }
      try parent.performAndWait { try moveAlbum(to: "O", in: parent) }
      for context in [child, grandchild] {
        try context.performAndWait {
          // Counted before a list is loaded.
          let artist = try unwrap(try context.one("Artist", where: equal("name", "O")) as? Artist)
          try expectEqual(artist.albums.count, 0, "the number of members")
          try expectEqual(try albumCounts(context), [0, 1, 0], "the lists")
        }
      }
      try parent.performAndWait { try expectEqual(try albumCounts(parent), [0, 0, 1], "the lists of the parent") }
      // Without the move of the child, its lists are those of the parent.
      try child.performAndWait {
        child.rollback()
        try expectEqual(try albumCounts(child), [0, 0, 1], "the lists after a rollback")
      }
    }
    Case("a record that a child and then its parent move is in one list after the child's save, and in the store") {
      stack in
      try makeAlbum(stack)
      let parent = stack.context()
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
      try child.performAndWait { try moveAlbum(to: "N", in: child) }
      try parent.performAndWait { try moveAlbum(to: "O", in: parent) }
      // The child saves without having read the list of the parent's owner.
      try child.performAndWait { try child.save() }
      try parent.performAndWait {
        try expectEqual(try albumCounts(parent), [0, 1, 0], "the lists of the parent")
        parent.delete(try parent.one("Artist", where: equal("name", "O")))
        try parent.save()
      }
      try stack.read { context in
        try expectEqual(try context.one("Artist", where: equal("name", "N")).labels(of: "albums"), ["A"])
      }
    }
    Case("an object to which a child and then its parent give partners has one partner after the child's save") {
      stack in
      try stack.write { context in for name in ["M", "N", "O"] { try context.make("Artist", ["name": name]) } }
      let parent = stack.context()
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
      try child.performAndWait { try marry(to: "N", in: child) }
      try parent.performAndWait { try marry(to: "O", in: parent) }
      try child.performAndWait { try child.save() }
      try parent.performAndWait {
        try expectEqual(try spouses(parent), ["N", "M", nil], "the partners in the parent")
        try parent.save()
      }
      try stack.read { try expectEqual(try spouses($0), ["N", "M", nil], "the partners in the store") }
    }
    Case("a record that a child deletes and another writer moves is in no list of the parent") { stack in
      try stack.write { context in
        let albums = try ["A", "B"].map { try context.make("Album", ["title": $0]) }
        try albums[0].setObjects([try context.make("Track", ["title": "t"])], for: "tracks")
      }
      let (parent, writer) = (stack.context(), stack.context())
      parent.follow(writer)
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
      try child.performAndWait {
        child.delete(try child.one("Track"))
        try child.processPendingChanges()
      }
      try writer.performAndWait {
        let album = try writer.one("Album", where: equal("title", "B"))
        try album.setObjects([try writer.one("Track")], for: "tracks")
        try writer.save()
      }
      try child.performAndWait { try child.save() }
      try parent.performAndWait {
        let album = try parent.one("Album", where: equal("title", "B"))
        try expectEqual(try album.objects(for: "tracks").count, 0)
      }
    }
  }
}
