import CoherenceCore
import Foundation

extension ConformanceSubject {
  static let objects = ConformanceSubject("Objects") {
    access
    unattached
    faults
    refreshing
    refreshedEdits
    undoing
  }

  private static func album(_ stack: ConformanceStack, _ title: String = "A") throws -> ManagedObjectID {
    try stack.write { context in
      let album = try context.make("Album", ["title": title, "year": 1959])
      try context.obtainPermanentIDs(for: [album])
      return album.objectID
    }
  }

  /// Changes the album behind the back of other contexts.
  private static func change(
    _ stack: ConformanceStack, _ id: ManagedObjectID, _ name: String, to value: some AttributeConvertible
  ) throws {
    try stack.write { try $0.existingObject(with: id).setValue(value, for: name) }
  }

  @CasesBuilder private static var access: [Case] {
    Case("values are read and written by name") { stack in
      try stack.read { context in
        let album = try context.make("Album")
        try album.setValue("A", for: "title")
        try album.setAttributeValue(.int(1959), for: "year")
        try expectEqual(try album.value(for: "title"), .string("A"))
        try expectEqual(try album.value(for: "year", as: Int32?.self), 1959)
        try expectEqual(try album.value(for: "price", as: Decimal?.self), nil)
      }
    }
    Case("a to-one relationship read as a value is the target's identifier") { stack in
      try stack.read { context in
        let album = try context.make("Album")
        let artist = try context.make("Artist", ["name": "M"])
        try album.setObject(artist, for: "artist")
        try expectEqual(try album.value(for: "artist"), .reference(artist.objectID))
        try album.setAttributeValue(.null, for: "artist")
        try expectEqual(try artist.objects(for: "albums").count, 0)
        try album.setAttributeValue(.reference(artist.objectID), for: "artist")
        try expectEqual(try artist.objects(for: "albums"), [album])
      }
    }
    Case("changed values are those that differ from the saved ones") { stack in
      let id = try album(stack)
      try stack.read { context in
        let album = try context.existingObject(with: id)
        try expectEqual(album.changedValues(), [:])
        try album.setValue("B", for: "title")
        try album.setValue(1960, for: "year")
        try expectEqual(album.changedValues(), ["title": .string("B"), "year": .int(1960)])
        try expectEqual(try album.committedValue(for: "title"), .string("A"))
        try album.setValue("A", for: "title")
        try expectEqual(album.changedValues(), ["year": .int(1960)])
        try album.setValue(1959, for: "year")
        try expectEqual(album.changedValues(), [:])
        try expect(!album.hasChanges && !context.hasChanges, "nothing to save")
      }
    }
    Case("setting a value to itself is no change") { stack in
      let id = try album(stack)
      try stack.read { context in
        let album = try context.existingObject(with: id)
        try album.setValue("A", for: "title")
        try album.setObject(nil, for: "artist")
        try expect(!context.hasChanges, "no change")
      }
    }
    Case("an object by identifier and class is loaded, and a record of another class is refused") { stack in
      let id = try album(stack)
      try stack.read { context in
        let album = try context.existingObject(with: id, as: Album.self)
        try expect(!album.isFault, "a loaded object")
        try expectEqual(album.title, "A")
        try expectThrows(.wrongType) { try context.existingObject(with: id, as: Track.self) }
        context.delete(album)
        try expectThrows(.objectDeleted) { try context.existingObject(with: id, as: Album.self) }
      }
    }
    Case("an object reports its state") { stack in
      try stack.read { context in
        let album = try context.make("Album", ["title": "A"])
        try expect(album.isInserted && album.hasChanges && !album.isUpdated && !album.isDeleted, "inserted")
        try expectEqual(album.version, 0)
        try context.save()
        try expect(!album.isInserted && !album.hasChanges, "clean after a save")
        try expectEqual(album.version, 1)
        try album.setValue("B", for: "title")
        try expect(album.isUpdated && album.hasChanges && !album.isInserted, "updated")
        context.delete(album)
        try expect(album.isDeleted && !album.isUpdated, "deleted")
        try context.save()
        try expect(album.isDeleted && album.managedObjectContext == nil, "a deleted object without a context")
      }
    }
    Case("each save that changes a record raises its version by one") { stack in
      let id = try album(stack)
      for year in 1...3 { try change(stack, id, "year", to: year) }
      try stack.read { context in
        let album = try context.existingObject(with: id)
        try album.load()
        try expectEqual(album.version, 4)
      }
    }
    Case("a save without changes leaves versions alone") { stack in
      let id = try album(stack)
      try stack.read { context in
        let album = try context.existingObject(with: id)
        try album.load()
        try context.save()
        try album.setValue("B", for: "title")
        try album.setValue("A", for: "title")
        try context.save()
        try expectEqual(album.version, 1)
      }
    }
  }

  @CasesBuilder private static var unattached: [Case] {
    Case("an object is made without a context, filled, and inserted later") { stack in
      try stack.write { context in
        let entity = try stack.model.entity(named: "Album")
        let album = ManagedObject(entity: entity, insertInto: nil)
        try album.setValue("A", for: "title")
        try expect(album.managedObjectContext == nil && !context.hasChanges, "no context")
        context.insert(album)
        try expect(album.managedObjectContext === context && album.isInserted, "inserted")
        try expectEqual(try album.value(for: "isLive"), .bool(false))
      }
      try stack.read { try expectEqual(try $0.names("Album"), ["A"]) }
    }
    Case("an object outside every context is not saved") { stack in
      try stack.write { context in
        let entity = try stack.model.entity(named: "Album")
        let album = ManagedObject(entity: entity, insertInto: nil)
        try album.setValue("A", for: "title")
        try context.make("Genre", ["name": "Jazz"])
      }
      try stack.read { try expectEqual(try $0.number(of: "Album"), 0) }
    }
    Case("an assignment that an object without a context has ignored fails the save after its insertion") { stack in
      try stack.read { context in
        let album = ManagedObject(entity: try stack.model.entity(named: "Album"), insertInto: nil)
        album[AttributeKey<String>("title")] = "A\u{0}"
        context.insert(album)
        try expectEqual(context.reportedErrors.count, 1)
        let error = try expectThrows(.validationFailed) { try context.save() }
        try expectEqual(error.objectIDs, [album.objectID])
        try album.setValue("A", for: "title")
        context.refresh(album, mergeChanges: false)
        try context.save()
      }
      try stack.read { try expectEqual(try $0.names("Album"), ["A"]) }
    }
    Case("an ignored assignment of a related object without a context fails the save after the insertion") { stack in
      try stack.read { context in
        let album = ManagedObject(entity: try stack.model.entity(named: "Album"), insertInto: nil)
        try album.setValue("A", for: "title")
        let track = ManagedObject(entity: try stack.model.entity(named: "Track"), insertInto: nil)
        try track.setValue("T", for: "title")
        track[AttributeKey<String>("title")] = "T\u{0}"
        try track.setObject(album, for: "album")
        context.insert(album)
        let error = try expectThrows(.validationFailed) { try context.save() }
        try expectEqual(error.objectIDs, [track.objectID])
        context.rollback()
        try expect(!context.hasChanges, "nothing to save")
      }
    }
    Case("a new object deleted before the save never reaches the store") { stack in
      try stack.read { context in
        let album = try context.make("Album", ["title": "A"])
        context.delete(album)
        try context.processPendingChanges()
        try expect(!context.hasChanges, "nothing to save")
        try context.save()
      }
      try stack.read { try expectEqual(try $0.number(of: "Album"), 0) }
    }
  }

  @CasesBuilder private static var faults: [Case] {
    Case("an object by identifier is a fault that loads on first access") { stack in
      let id = try album(stack)
      try stack.read { context in
        let album = context.object(with: id)
        try expect(album.isFault, "a fault")
        try expectEqual(try album.label, "A")
        try expect(!album.isFault, "no fault any more")
      }
    }
    Case("loading a fault of a missing record throws") { stack in
      let id = try album(stack)
      try stack.write { $0.delete(try $0.existingObject(with: id)) }
      try stack.read { context in
        let album = context.object(with: id)
        let error = try expectThrows(.objectNotFound) { try album.load() }
        try expectEqual(error.objectIDs, [id])
        try expectThrows(.objectNotFound) { try album.value(for: "title") }
        try expectThrows(.objectNotFound) { try album.setValue("B", for: "title") }
      }
    }
    Case("an identifier without a record is reported as not found") { stack in
      let id = try album(stack)
      try stack.write { $0.delete(try $0.existingObject(with: id)) }
      try stack.read { context in
        let error = try expectThrows(.objectNotFound) { try context.existingObject(with: id) }
        try expectEqual(error.objectIDs, [id])
        try expect(context.registeredObject(with: id)?.hasChanges != true, "nothing to be left behind")
      }
    }
    Case("a fault of a subentity becomes an object of its own entity") { stack in
      let id = try stack.write { context in
        let legend = try context.make("Legend", ["name": "Ella"])
        try context.obtainPermanentIDs(for: [legend])
        return legend.objectID
      }
      try stack.read { context in
        let artist: Artist = try context.existing(id)
        try expect(artist is Legend, "a legend")
        try expectEqual(artist.name, "Ella")
      }
    }
  }

  @CasesBuilder private static var refreshing: [Case] {
    Case("a refresh without merging drops changes and shows the store's state") { stack in
      let id = try album(stack)
      try stack.read { context in
        let album = try context.existingObject(with: id)
        try album.setValue("mine", for: "title")
        try change(stack, id, "year", to: 2000)
        context.refresh(album, mergeChanges: false)
        try expectEqual(try album.label, "A")
        try expectEqual(try album.value(for: "year"), .int(2000))
        try expect(!context.hasChanges, "nothing to save")
      }
    }
    Case("a refresh with merging keeps changes over the store's state") { stack in
      let id = try album(stack)
      try stack.read { context in
        let album = try context.existingObject(with: id)
        try album.setValue("mine", for: "title")
        try change(stack, id, "year", to: 2000)
        context.refresh(album, mergeChanges: true)
        try expectEqual(try album.label, "mine")
        try expectEqual(try album.value(for: "year"), .int(2000))
        try expectEqual(album.changedValues(), ["title": .string("mine")])
        try context.save()
      }
      try stack.read { context in
        let album = try context.existingObject(with: id)
        try expectEqual(try album.label, "mine")
        try expectEqual(try album.value(for: "year"), .int(2000))
      }
    }
    Case("after refreshing all, every object shows the store's state") { stack in
      let ids = try ["A", "B"].map { try album(stack, $0) }
      try stack.read { context in
        let albums = try ids.map { try context.existingObject(with: $0) }
        for album in albums { try album.load() }
        for id in ids { try change(stack, id, "year", to: 2000) }
        context.refreshAll()
        for album in albums { try expectEqual(try album.value(for: "year"), .int(2000)) }
      }
    }
    Case("a fetch refreshes clean objects") { stack in
      let id = try album(stack)
      let context = stack.context()
      let album = try context.performAndWait { try context.existingObject(with: id) }
      try change(stack, id, "year", to: 2000)
      try context.performAndWait {
        try expectEqual(try context.one("Album", where: equal("year", 2000)), album)
        try expectEqual(try album.value(for: "year"), .int(2000))
      }
    }
    Case("a fetch does not refresh changed objects") { stack in
      let id = try album(stack)
      try stack.read { context in
        let album = try context.existingObject(with: id)
        try album.setValue("mine", for: "title")
        try change(stack, id, "title", to: "theirs")
        try expectEqual(try context.names("Album"), ["mine"])
        try expectEqual(try album.label, "mine")
      }
    }
  }

  @CasesBuilder private static var undoing: [Case] {
    Case("a rollback reverts inserts, changes and deletes") { stack in
      let ids = try ["A", "B"].map { try album(stack, $0) }
      try stack.read { context in
        let changed = try context.existingObject(with: ids[0])
        let deleted = try context.existingObject(with: ids[1])
        let inserted = try context.make("Album", ["title": "C"])
        try changed.setValue("X", for: "title")
        context.delete(deleted)
        context.rollback()
        try expect(!context.hasChanges, "nothing to save")
        try expectEqual(try context.names("Album"), ["A", "B"])
        try expectEqual(try changed.label, "A")
        try expectEqual(try deleted.label, "B")
        try expect(!deleted.isDeleted && inserted.managedObjectContext == nil, "no traces")
      }
    }
    Case("a rollback reverts changes of relationships on both sides") { stack in
      try stack.write { context in
        let artist = try context.make("Artist", ["name": "M"])
        try context.make("Album", ["title": "A"]).setObject(artist, for: "artist")
        try context.make("Genre", ["name": "Jazz"])
      }
      try stack.read { context in
        let album = try context.one("Album")
        let artist = try context.one("Artist")
        let genre = try context.one("Genre")
        try album.setObject(nil, for: "artist")
        try album.setObjects([genre], for: "genres")
        context.rollback()
        try expectEqual(try album.object(for: "artist"), artist)
        try expectEqual(try artist.objects(for: "albums"), [album])
        try expectEqual(try genre.objects(for: "albums"), [])
      }
    }
    Case("a reset context has no objects, and old ones say so") { stack in
      let id = try album(stack)
      try stack.read { context in
        let album = try context.existingObject(with: id)
        try album.setValue("X", for: "title")
        context.reset()
        try expect(!context.hasChanges && context.registeredObjects.isEmpty, "an empty context")
        try expect(album.managedObjectContext == nil, "no context")
        try expectThrows(.objectDeleted) { try album.setValue("Y", for: "title") }
        try expectEqual(try context.names("Album"), ["A"])
      }
    }
  }
}
