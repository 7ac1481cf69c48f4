import CoherenceCore

extension ConformanceSubject {
  /// An identifier that a program kept from before the save finds the same record after it.
  static let temporaryIdentifiers = ConformanceSubject("Temporary identifiers") {
    requests
    forms
    children
  }

  /// Saves two artists with an album each, and runs a block with the identifier that the first had before.
  private static func saved(
    _ stack: ConformanceStack, _ body: (ManagedObjectContext, ManagedObjectID) throws -> Void
  ) throws {
    try stack.read { context in
      let artists = try ["Miles", "Nina"].map { try context.make("Artist", ["name": $0]) }
      for (title, artist) in zip(["A", "B"], artists) {
        try context.make("Album", ["title": title]).setObject(artist, for: "artist")
      }
      let temporary = artists[0].objectID
      try context.save()
      try expect(artists[0].objectID != temporary, "another identifier after the save")
      try body(context, temporary)
    }
  }

  @CasesBuilder private static var requests: [Case] {
    Case("a fetch and a count by a former identifier find the record") { stack in
      try saved(stack) { context, former in
        try expectEqual(try context.names("Album", where: refers("artist", to: former)), ["A"])
        try expectEqual(try context.number(of: "Album", where: refers("artist", to: former)), 1)
      }
    }
    Case("a batch update by a former identifier changes the record") { stack in
      try saved(stack) { context, former in
        let request = BatchUpdateRequest(
          entityName: "Album", predicate: refers("artist", to: former), values: ["year": 1959])
        try expectEqual(try context.execute(request).count, 1)
      }
      try stack.read { try expectEqual(try $0.names("Album", where: equal("year", 1959)), ["A"]) }
    }
    Case("a batch delete by a former identifier deletes the record") { stack in
      try saved(stack) { context, former in
        let request = BatchDeleteRequest(entityName: "Album", predicate: refers("artist", to: former))
        try expectEqual(try context.execute(request).count, 1)
      }
      try stack.read { try expectEqual(try $0.names("Album"), ["B"]) }
    }
  }

  private static func found(
    _ form: String, _ names: [String], of entity: String = "Album",
    by predicate: @escaping @Sendable (ManagedObjectID) -> FetchPredicate
  ) -> Case {
    Case("a former identifier \(form) means the record") { stack in
      try saved(stack) { context, former in
        try expectEqual(try context.names(entity, where: predicate(former)), names)
      }
    }
  }

  @CasesBuilder private static var forms: [Case] {
    found("on the left side", ["A"]) { .comparison(.value(.reference($0)), .equal, .path(PropertyPath("artist"))) }
    found("in a list", ["A"]) { .membership(.path(PropertyPath("artist")), in: [.reference($0)], []) }
    found("in a negation", ["B"]) { .not(refers("artist", to: $0)) }
    found("in the second part of a conjunction", ["A"]) {
      .and([compare("title", .less, "Z"), refers("artist", to: $0)])
    }
    found("in the second part of a disjunction", ["A", "B"]) {
      .or([equal("title", "B"), refers("artist", to: $0)])
    }
    found("in a condition on members", ["Miles"], of: "Artist") { members(.any, "albums", refers("artist", to: $0)) }
  }

  // MARK: Children

  /// Runs a block with a parent, a child of it, and the child's object of an unsaved album of the parent. The parent
  /// obtained the album's permanent identifier after the child had read the album.
  private static func identified(
    _ stack: ConformanceStack, editsBefore: Bool = false,
    _ body: (_ parent: ManagedObjectContext, _ child: ManagedObjectContext, _ album: ManagedObject) throws -> Void
  ) throws {
    let parent = stack.context()
    let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
    try parent.performAndWait {
      let album = try parent.make("Album", ["title": "A", "year": 1959])
      try album.setObject(try parent.make("Artist", ["name": "Miles"]), for: "artist")
      let own = try child.performAndWait {
        let own = try child.one("Album")
        try expectEqual(own.label, "A")
        if editsBefore { try own.setValue(1960, for: "year") }
        return own
      }
      try parent.obtainPermanentIDs(for: Array(parent.insertedObjects))
      try child.performAndWait { try body(parent, child, own) }
    }
  }

  @CasesBuilder private static var children: [Case] {
    Case("a child's edit of a record that got its permanent identifier from the parent reaches the store") { stack in
      try identified(stack) { parent, child, album in
        try album.setValue("B", for: "title")
        try expectEqual(try child.names("Album"), ["B"])
        try expectEqual(try child.number(of: "Album"), 1)
        try child.save()
        try expectEqual(try parent.names("Album"), ["B"])
        try parent.save()
      }
      try stack.read { try expectEqual(try $0.names("Album"), ["B"]) }
    }
    // The child reads a record again that refers to another one with a new identifier. This record refers to none.
    Case("a child's fetch finds its edit of a record without references that got its permanent identifier") { stack in
      let parent = stack.context()
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
      try parent.performAndWait {
        try parent.make("Artist", ["name": "Miles"])
        let artist = try child.performAndWait {
          let artist = try child.one("Artist")
          try expectEqual(artist.label, "Miles")
          return artist
        }
        try parent.obtainPermanentIDs(for: Array(parent.insertedObjects))
        try child.performAndWait {
          try artist.setValue("Davis", for: "name")
          try expectEqual(try child.names("Artist"), ["Davis"])
          try expectEqual(artist.objectID, try child.one("Artist").objectID)
          try child.save()
        }
        try parent.save()
      }
      try stack.read { try expectEqual(try $0.names("Artist"), ["Davis"]) }
    }
    Case("a child's edit from before its parent obtained the permanent identifier reaches the store") { stack in
      try identified(stack, editsBefore: true) { parent, child, album in
        try expectEqual(try child.names("Album", where: equal("year", 1960)), ["A"])
        try child.save()
        try album.setValue("B", for: "title")
        try expectEqual(try child.names("Album"), ["B"])
        try child.save()
        try parent.save()
      }
      try stack.read { try expectEqual(try $0.names("Album", where: equal("year", 1960)), ["B"]) }
    }
    Case("a child edits a record again after a rollback of an edit from before its permanent identifier") { stack in
      try identified(stack, editsBefore: true) { parent, child, album in
        child.rollback()
        try album.setValue("B", for: "title")
        try expectEqual(try child.names("Album", where: equal("year", 1959)), ["B"])
        try child.save()
        try parent.save()
      }
      try stack.read { try expectEqual(try $0.names("Album", where: equal("year", 1959)), ["B"]) }
    }
    Case("a child's object refers to a record by the permanent identifier that its parent obtained") { stack in
      try identified(stack) { parent, child, album in
        let artist = try parent.one("Artist").objectID
        try expectEqual(try album.object(for: "artist")?.objectID, artist)
        try expectEqual(try album.object(for: "artist")?.label, "Miles")
        try album.setValue("B", for: "title")
        try expectEqual(try child.names("Album", where: refers("artist", to: artist)), ["B"])
      }
    }
    Case("a child's edited object refers to a record by the permanent identifier that its parent obtained") { stack in
      try identified(stack, editsBefore: true) { parent, child, album in
        let artist = try parent.one("Artist")
        try expectEqual(try album.object(for: "artist")?.objectID, artist.objectID)
        try expectEqual(try child.names("Album", where: refers("artist", to: artist.objectID)), ["A"])
        child.rollback()
        try expectEqual(try album.object(for: "artist")?.label, "Miles")
      }
    }
    Case("a child replaces a reference to an unsaved record of its parent that the parent saves meanwhile") { stack in
      let parent = stack.context()
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
      try parent.performAndWait {
        let album = try parent.make("Album", ["title": "A"])
        try album.setObject(try parent.make("Artist", ["name": "Miles"]), for: "artist")
        try child.performAndWait {
          try child.one("Album").setObject(try child.make("Artist", ["name": "Nina"]), for: "artist")
        }
        try parent.save()
        try child.performAndWait { try child.save() }
        try parent.save()
      }
      try stack.read { try expectEqual(try $0.one("Album").object(for: "artist")?.label, "Nina") }
    }
    Case("a child finds a record by the temporary identifier of an object that it has released since") { stack in
      for isInserted in [false, true] {
        let parent = stack.context()
        let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
        if !isInserted { try parent.performAndWait { try parent.make("Artist", ["name": "Miles"]) } }
        let id = try child.performAndWait { () throws -> ManagedObjectID in
          guard isInserted else { return try child.one("Artist").objectID }
          let artist = try child.make("Artist", ["name": "Miles"])
          let id = artist.objectID
          try child.save()
          return id
        }
        try parent.performAndWait { try parent.save() }
        try child.performAndWait {
          try expect(id.isTemporaryID, "an identifier from before the save")
          try expectEqual(try child.existingObject(with: id).label, "Miles")
        }
        try stack.write { for artist in try $0.all("Artist") { $0.delete(artist) } }
      }
    }
    Case("a child's delete of a record that got its permanent identifier from the parent reaches the store") { stack in
      for editsBefore in [false, true] {
        try identified(stack, editsBefore: editsBefore) { parent, child, album in
          child.delete(album)
          try expectEqual(try child.names("Album"), [])
          try child.save()
          try expectEqual(try parent.names("Album"), [])
          try parent.save()
        }
        try stack.read { try expectEqual(try $0.names("Album"), []) }
      }
    }
    Case("a child with more waiting changes than it lists follows the permanent identifiers that its parent saves") {
      stack in
      let parent = stack.context()
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
      let (album, id) = try parent.performAndWait {
        let album = try parent.make("Album", ["title": "A"])
        // The child processes no changes within its unit of work.
        let own = try child.performAndWait {
          let own = try child.existingObject(with: album.objectID)
          try parent.save()
          for _ in 0..<10_000 { child.mergeChanges(fromContextDidSave: ChangeSet()) }
          return own
        }
        return (own, album.objectID)
      }
      try child.performAndWait {
        try expect(!album.objectID.isTemporaryID, "a permanent identifier")
        try expectEqual(album.objectID, id)
        try expectEqual(try album.label, "A")
      }
    }
    Case("a child follows the permanent identifiers of a save with more records than it lists") { stack in
      let parent = stack.context()
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
      let temporary = try parent.performAndWait {
        for number in 0..<10_000 { try parent.make("Genre", ["name": "\(number)"]) }
        return try parent.make("Album", ["title": "A"]).objectID
      }
      let album = try child.performAndWait { try child.existingObject(with: temporary) }
      try parent.performAndWait { try parent.save() }
      try child.performAndWait {
        try expect(!album.objectID.isTemporaryID, "a permanent identifier")
        try expectEqual(try album.label, "A")
        try album.setValue("B", for: "title")
        try child.save()
      }
      try parent.performAndWait { try parent.save() }
      try stack.read { try expectEqual(try $0.names("Album"), ["B"]) }
    }
    Case("a child follows the permanent identifiers of two saves with more records than it lists") { stack in
      let parent = stack.context()
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
      try expectFollowed(stack, savesOf: parent, whileIdle: child, in: child)
    }
    Case("a child saves an edit of a record that its parent has saved before a reset, in one unit of work") { stack in
      let parent = stack.context()
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
      try parent.performAndWait {
        let temporary = try parent.make("Album", ["title": "A"]).objectID
        try child.performAndWait {
          let album = try child.existingObject(with: temporary)
          try parent.save()
          parent.reset()
          try album.setValue("B", for: "title")
          try child.save()
        }
        try parent.save()
      }
      try stack.read { try expectEqual(try $0.names("Album"), ["B"]) }
    }
    Case(
      "a child's reference to an insert that joined a stored record in the same unit of work leads to this record",
      model: Labels.model
    ) { stack in
      let id = try store(stack, ["name": "a"])
      let parent = stack.context(.objectTrumps)
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
      try parent.performAndWait {
        let tag = try parent.make("Tag", ["name": "a", "colour": "blue"])
        try parent.obtainPermanentIDs(for: [tag])
        let former = tag.objectID
        try child.performAndWait {
          try child.make("Note", ["name": "n"]).setObject(try child.existingObject(with: former), for: "main")
          try parent.save()
          try child.save()
        }
        try parent.save()
      }
      try stack.read { try expectEqual(try $0.one("Note").object(for: "main")?.objectID, id) }
    }
    Case("a child of a child follows a save of the farthest parent that its parent receives before a reset") { stack in
      let root = stack.context()
      let middle = ManagedObjectContext(concurrencyType: .privateQueue, parent: root)
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: middle)
      let temporary = try root.performAndWait { try root.make("Album", ["title": "A"]).objectID }
      let album = try child.performAndWait { try child.existingObject(with: temporary) }
      try middle.performAndWait {
        try root.performAndWait { try root.save() }
        middle.reset()
      }
      try child.performAndWait {
        try expect(!album.objectID.isTemporaryID, "a permanent identifier")
        try expectEqual(try album.label, "A")
      }
    }
    Case("a child of a child keeps its object of a record that it reads before its parent follows the save") { stack in
      let root = stack.context()
      let middle = ManagedObjectContext(concurrencyType: .privateQueue, parent: root)
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: middle)
      try root.performAndWait { try root.make("Album", ["title": "A"]) }
      let album = try child.performAndWait { try child.one("Album") }
      try middle.performAndWait {
        try root.performAndWait { try root.save() }
        try child.performAndWait { try expect(try child.one("Album") === album, "the same object") }
      }
      middle.performAndWait {}
      try child.performAndWait { try expect(album.managedObjectContext === child, "an object of the context") }
    }
    Case("a child of a child follows two saves with more records than its parent lists") { stack in
      let parent = stack.context()
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
      let grandchild = ManagedObjectContext(concurrencyType: .privateQueue, parent: child)
      try expectFollowed(stack, savesOf: parent, whileIdle: child, in: grandchild)
    }
    Case("a child of a child follows the permanent identifiers that the farthest parent obtains or saves") { stack in
      for saves in [false, true] {
        try farthest(stack, saves: saves)
        try stack.read { try expectEqual(try $0.names("Album"), ["B"]) }
        try stack.write { for album in try $0.all("Album") { $0.delete(album) } }
      }
    }
  }

  /// Saves many records twice while a child of the saver is in a unit of work, which processes no changes, and expects
  /// the records in a descendant that has read them before the saves.
  private static func expectFollowed(
    _ stack: ConformanceStack, savesOf parent: ManagedObjectContext, whileIdle child: ManagedObjectContext,
    in descendant: ManagedObjectContext
  ) throws {
    let albums = try parent.performAndWait {
      try child.performAndWait {
        try ["A", "B"].map { title -> ManagedObject in
          for number in 0..<10_000 { try parent.make("Genre", ["name": "\(title) \(number)"]) }
          let temporary = try parent.make("Album", ["title": title]).objectID
          let album = try descendant.performAndWait { try descendant.existingObject(with: temporary) }
          try parent.save()
          return album
        }
      }
    }
    // The child passes the changes on.
    child.performAndWait {}
    try descendant.performAndWait {
      for (album, title) in zip(albums, ["A", "B"]) {
        try expect(!album.objectID.isTemporaryID, "a permanent identifier")
        try expectEqual(try album.label, title)
        try album.setValue("\(title)2", for: "title")
      }
      try descendant.save()
    }
    for context in [child, parent] { try context.performAndWait { try context.save() } }
    try stack.read { try expectEqual(try $0.names("Album"), ["A2", "B2"]) }
  }

  private static func farthest(_ stack: ConformanceStack, saves: Bool) throws {
    let parent = stack.context()
    let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
    let grandchild = ManagedObjectContext(concurrencyType: .privateQueue, parent: child)
    try parent.performAndWait {
      try parent.make("Album", ["title": "A"]).setObject(try parent.make("Artist", ["name": "Nina"]), for: "artist")
    }
    let album = try grandchild.performAndWait {
      let album = try grandchild.one("Album")
      try expectEqual(album.label, "A")
      return album
    }
    try parent.performAndWait {
      if saves { try parent.save() } else { try parent.obtainPermanentIDs(for: Array(parent.insertedObjects)) }
    }
    // The child passes the identifiers on.
    child.performAndWait {}
    try grandchild.performAndWait {
      try expectEqual(try album.object(for: "artist")?.label, "Nina")
      try album.setValue("B", for: "title")
      try expectEqual(try grandchild.names("Album"), ["B"])
      try grandchild.save()
    }
    for context in [child, parent] { try context.performAndWait { try context.save() } }
  }
}
