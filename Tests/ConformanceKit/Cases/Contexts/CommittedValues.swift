import CoherenceCore

extension ConformanceSubject {
  static let committedValues = ConformanceSubject("Committed values") {
    committedAttributes
    committedRelationships
    otherStates
  }

  /// Saves an album of an artist with a track and a genre.
  private static func fill(_ stack: ConformanceStack) throws {
    try stack.write { context in
      let album = try context.make("Album", ["title": "A", "year": 1959])
      try album.setObject(try context.make("Artist", ["name": "M"]), for: "artist")
      try album.setObjects([try context.make("Track", ["title": "1"])], for: "tracks")
      try album.setObjects([try context.make("Genre", ["name": "Jazz"])], for: "genres")
    }
  }

  @CasesBuilder private static var committedAttributes: [Case] {
    Case("committed values are those of the row, whatever the unsaved changes") { stack in
      try fill(stack)
      try stack.read { context in
        let album = try context.one("Album")
        try album.setValue("B", for: "title")
        try album.setValue(nil, for: "year")
        let committed = try album.committedValues(forKeys: ["title", "year", "isLive"])
        try expectEqual(committed, ["title": .string("A"), "year": .int(1959), "isLive": .bool(false)])
        try context.save()
        try expectEqual(try album.committedValues(forKeys: ["title", "year"]), ["title": .string("B"), "year": .null])
      }
    }
    Case("without names, committed values are those of all attributes and relationships") { stack in
      try fill(stack)
      try stack.read { context in
        let album = try context.one("Album")
        let values = try album.committedValues()
        try expectEqual(Set(values.keys), Set(album.entity.properties.map(\.name)))
        try expectEqual(values["title"], .string("A"))
        try expectEqual(values["tracks"], .null)
        try expectEqual(values["artist"], .reference(try context.one("Artist").objectID))
      }
    }
    Case("a committed value of an unknown name is refused, with the names of the entity") { stack in
      try fill(stack)
      try stack.read { context in
        let album = try context.one("Album")
        let error = try expectThrows(.unknownProperty) { try album.committedValues(forKeys: ["title", "colour"]) }
        for part in ["'Album'", "'colour'", "barcode"] { try expect(error.message.contains(part), error.message) }
        try expectThrows(.unknownProperty) { try album.committedObjectIDs(for: "colour") }
        try expectThrows(.wrongType) { try album.committedObjectIDs(for: "title") }
        try expectThrows(.wrongType) { try album.committedObjectIDs(for: "artist") }
      }
    }
    Case("an object has changed values while a property differs from its committed value") { stack in
      try fill(stack)
      try stack.read { context in
        let album = try context.one("Album")
        try expect(!album.hasPersistentChangedValues, "a fault has no changes")
        try album.setValue("B", for: "title")
        try expect(album.hasPersistentChangedValues, "a change")
        try album.setValue("A", for: "title")
        try expect(!album.hasPersistentChangedValues, "no change after the value was set back")
        try album.setValue(1960, for: "year")
        try context.save()
        try expect(!album.hasPersistentChangedValues, "no change after the save")
        context.delete(album)
        try expect(!album.hasPersistentChangedValues, "a delete changes no value")
      }
    }
  }

  @CasesBuilder private static var committedRelationships: [Case] {
    Case("the committed members of a relationship are those before the unsaved changes") { stack in
      try fill(stack)
      try stack.read { context in
        let album = try context.one("Album")
        let (track, genre) = (try context.one("Track"), try context.one("Genre"))
        try album.setObjects([try context.make("Track", ["title": "2"]), track], for: "tracks")
        try album.setObjects([], for: "genres")
        try expectEqual(try album.committedObjectIDs(for: "tracks"), [track.objectID])
        try expectEqual(try album.committedObjectIDs(for: "genres"), [genre.objectID])
        try expectEqual(try genre.committedObjectIDs(for: "albums"), [album.objectID])
        try expect(album.hasPersistentChangedValues && genre.hasPersistentChangedValues, "changed members")
        try context.save()
        try expectEqual(try album.committedObjectIDs(for: "tracks").count, 2)
        try expectEqual(try album.committedObjectIDs(for: "genres"), [])
      }
    }
    Case("an order that was changed and changed back is no changed value") { stack in
      try fill(stack)
      try stack.write { context in
        let album = try context.one("Album")
        let tracks = try album.objects(for: "tracks")
        try album.setObjects(tracks + [try context.make("Track", ["title": "2"])], for: "tracks")
      }
      try stack.read { context in
        let album = try context.one("Album")
        let tracks = try album.objects(for: "tracks")
        try album.setObjects(tracks.reversed(), for: "tracks")
        try expect(album.hasPersistentChangedValues, "another order")
        try expectEqual(try album.committedObjectIDs(for: "tracks"), tracks.map(\.objectID))
        try album.setObjects(tracks, for: "tracks")
        try expect(!album.hasPersistentChangedValues, "the former order")
        try expect(!tracks[0].hasPersistentChangedValues, "a position is no value of the member")
      }
    }
    Case("the committed target of a changed to-one relationship is the former target") { stack in
      try fill(stack)
      try stack.read { context in
        let (album, artist) = (try context.one("Album"), try context.one("Artist"))
        try album.setObject(nil, for: "artist")
        try expectEqual(try album.committedValue(for: "artist"), .reference(artist.objectID))
        try expectEqual(try artist.committedObjectIDs(for: "albums"), [album.objectID])
        try expect(album.hasPersistentChangedValues, "no target any more")
      }
    }
  }

  /// Sets the title of the album to "B" in a context, saves a change of the album in another context that the first one
  /// follows, and passes the edited album to a block.
  private static func withEditedTitle(
    _ stack: ConformanceStack, savingElsewhere change: (ManagedObject) throws -> Void,
    _ body: (ManagedObject) throws -> Void
  ) throws {
    try fill(stack)
    let writer = stack.context()
    let context = stack.context()
    context.follow(writer)
    let album = try context.performAndWait { () throws -> ManagedObject in
      let album = try context.one("Album")
      try album.setValue("B", for: "title")
      return album
    }
    try writer.performAndWait {
      try change(try writer.one("Album"))
      try writer.save()
    }
    try context.performAndWait { try body(album) }
  }

  @CasesBuilder private static var otherStates: [Case] {
    Case("an inserted object has no committed values, and its defaults are no changed values") { stack in
      try stack.read { context in
        let album = try context.make("Album")
        try expect(!album.hasPersistentChangedValues, "nothing was set")
        try album.setValue("A", for: "title")
        try album.setObjects([try context.make("Track")], for: "tracks")
        try expect(try album.committedValues().values.allSatisfy(\.isNull), "null for every name")
        try expectEqual(try album.committedObjectIDs(for: "tracks"), [])
        try expect(album.hasPersistentChangedValues, "a value was set")
      }
    }
    Case("the committed values of an edited object follow the saves of other writers") { stack in
      try withEditedTitle(stack, savingElsewhere: { try $0.setValue(2000, for: "year") }) { album in
        try expectEqual(try album.committedValue(for: "year"), .int(2000))
        try expectEqual(try album.committedValue(for: "title"), .string("A"))
        try expect(album.hasPersistentChangedValues, "the edit")
      }
    }
    Case("an edit that another writer has saved too is no changed value") { stack in
      try withEditedTitle(stack, savingElsewhere: { try $0.setValue("B", for: "title") }) { album in
        try expect(!album.hasPersistentChangedValues, "the store's value")
      }
    }
    Case("the committed values of a child context are those of its parent") { stack in
      try fill(stack)
      let parent = stack.context()
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
      try parent.performAndWait {
        try parent.one("Album").setValue("B", for: "title")
        try child.performAndWait {
          let album = try child.one("Album")
          try album.setValue("C", for: "title")
          try expectEqual(try album.committedValues(forKeys: ["title"]), ["title": .string("B")])
        }
      }
    }
    Case("an object that a child context has inserted has its changed values in the parent") { stack in
      let parent = stack.context()
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
      try parent.performAndWait {
        try child.performAndWait {
          try child.make("Album", ["title": "A"])
          try child.save()
        }
        let album = try parent.one("Album")
        try expectEqual(album.changedValues(), ["title": .string("A")])
        try expect(album.hasPersistentChangedValues, "an assigned value")
      }
    }
    Case("committed values of a vanished record, and of a deleted object, are refused") { stack in
      try fill(stack)
      try stack.read { context in
        let id = try context.one("Album").objectID
        context.reset()
        let album = context.object(with: id)
        try stack.write { $0.delete(try $0.one("Album")) }
        try expectThrows(.objectNotFound) { try album.committedValues() }
        try expect(!album.hasPersistentChangedValues, "a fault has no changes")
      }
      try fill(stack, again: "B")
      try stack.read { context in
        let album = try context.one("Album")
        context.delete(album)
        try expectEqual(try album.committedValues(forKeys: ["title"]), ["title": .string("B")])
        try context.save()
        try expectThrows(.objectDeleted) { try album.committedValues() }
      }
    }
  }

  private static func fill(_ stack: ConformanceStack, again title: String) throws {
    try stack.write { try $0.make("Album", ["title": title]) }
  }
}
