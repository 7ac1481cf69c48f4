import CoherenceCore
import Foundation

/// The stores of new records that relationships connect.
extension ConformanceSubject {
  static let storesOfNewRecords = ConformanceSubject("Stores of new records") {
    relatedRecords
    afterFailedSaves
  }

  /// A context over two stores that hold every entity of a model.
  private static func pair(
    _ stack: ConformanceStack, _ model: ManagedObjectModel? = nil
  ) throws -> (context: ManagedObjectContext, stores: [any PersistentStore]) {
    let coordinator = stack.makeCoordinator(model: model)
    let stores = try [false, true].map { companion in
      try stack.attach(try stack.makeLocation(companion: companion), to: coordinator)
    }
    return (ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator), stores)
  }

  @CasesBuilder private static var relatedRecords: [Case] {
    Case("new records are inserted into the store of the new record that they lead to") { stack in
      let (context, stores) = try pair(stack)
      try context.performAndWait {
        let track = try context.make("Track", ["title": "T"])
        let album = try context.make("Album", ["title": "A"])
        let artist = try context.make("Artist", ["name": "M"])
        let genre = try context.make("Genre", ["name": "G"])
        let stranger = try context.make("Genre", ["name": "other"])
        try track.setObject(album, for: "album")
        try album.setObject(artist, for: "artist")
        try album.setObjects([genre], for: "genres")
        try context.assign(artist, to: stores[1])
        try context.save()
        for object in [track, album, artist, genre] {
          try expectEqual(object.objectID.storeIdentifier, stores[1].identifier, object.entity.name)
        }
        try expectEqual(stranger.objectID.storeIdentifier, stores[0].identifier)
        context.reset()
        let saved = try context.one("Album")
        try expectEqual(try saved.labels(of: "tracks"), ["T"])
        try expectEqual(try saved.labels(of: "genres"), ["G"])
        try expectEqual(try saved.object(for: "artist")?.label, "M")
      }
    }
    Case("new records are inserted into the store of the saved record that one of them leads to") { stack in
      let (context, stores) = try pair(stack)
      try context.performAndWait {
        let artist = try context.make("Artist", ["name": "M"])
        try context.assign(artist, to: stores[1])
        try context.save()
        let track = try context.make("Track", ["title": "T"])
        let album = try context.make("Album", ["title": "A"])
        try track.setObject(album, for: "album")
        try album.setObject(artist, for: "artist")
        // The track leads to the artist over the album alone.
        try context.obtainPermanentIDs(for: [track])
        try expectEqual(track.objectID.storeIdentifier, stores[1].identifier)
        try context.save()
        try expectEqual(album.objectID.storeIdentifier, stores[1].identifier)
      }
    }
    Case("a new record is inserted into the store of the new record that leads to it without an inverse") { stack in
      let (context, stores) = try pair(stack, Shops.model)
      try context.performAndWait {
        let substitute = try context.make("Article", ["name": "s"])
        let article = try context.make("Article", ["name": "a"])
        try article.setObject(substitute, for: "substitute")
        try context.assign(article, to: stores[1])
        try context.save()
        try expectEqual(substitute.objectID.storeIdentifier, stores[1].identifier)
        context.reset()
        let saved = try context.one("Article", where: equal("name", "a"))
        try expectEqual(try saved.object(for: "substitute")?.label, "s")
      }
    }
  }

  @CasesBuilder private static var afterFailedSaves: [Case] {
    Case("a new record refused over two stores is inserted into the store of its remaining relationship") { stack in
      let (context, stores) = try pair(stack)
      try context.performAndWait {
        let artist = try context.make("Artist", ["name": "M"])
        let genre = try context.make("Genre", ["name": "G"])
        try context.assign(artist, to: stores[0])
        try context.assign(genre, to: stores[1])
        try context.save()
        let album = try context.make("Album", ["title": "A"])
        let track = try context.make("Track", ["title": "T"])
        try track.setObject(album, for: "album")
        try album.setObject(artist, for: "artist")
        try album.setObjects([genre], for: "genres")
        _ = try expectThrows(.relationshipCrossesStores) { try context.save() }
        try album.setObject(nil, for: "artist")
        try context.save()
        for object in [album, track] {
          try expectEqual(object.objectID.storeIdentifier, stores[1].identifier, object.entity.name)
        }
        context.reset()
        let saved = try context.one("Album")
        try expectEqual(try saved.labels(of: "tracks"), ["T"])
        try expectEqual(try saved.labels(of: "genres"), ["G"])
      }
    }
    Case("a new record whose save has failed is inserted into the store of its later relationship") { stack in
      let (context, stores) = try pair(stack)
      try context.performAndWait {
        let artist = try context.make("Artist", ["name": "M"])
        let genre = try context.make("Genre", ["name": "G"])
        try context.assign(artist, to: stores[1])
        try context.assign(genre, to: stores[0])
        try context.save()
        let album = try context.make("Album", ["title": "A"])
        // The refusal of another record, after the album has a key in the first store.
        let other = try context.make("Album", ["title": "B"])
        try other.setObject(artist, for: "artist")
        try other.setObjects([genre], for: "genres")
        _ = try expectThrows(.relationshipCrossesStores) { try context.save() }
        context.delete(other)
        try album.setObject(artist, for: "artist")
        try context.save()
        try expectEqual(album.objectID.storeIdentifier, stores[1].identifier)
        context.reset()
        try expectEqual(try context.one("Album").object(for: "artist")?.label, "M")
      }
    }
    Case("a record that an earlier save may have stored keeps its key after a refusal over two stores") { stack in
      let interposition = try stack.interpose()
      let other = try stack.attach(try stack.makeLocation(companion: true), to: stack.coordinator)
      let context = stack.context()
      try context.performAndWait {
        let genre = try context.make("Genre", ["name": "G"])
        try context.assign(genre, to: other)
        try context.save()
        interposition.afterSave { _ in
          throw CoherenceError(.connectionLost, "The connection broke.", outcome: .unknown)
        }
        let album = try context.make("Album", ["title": "A"])
        try expectEqual(try expectThrows(.connectionLost) { try context.save() }.outcome, .unknown)
        interposition.afterSave(nil)
        try album.setObjects([genre], for: "genres")
        _ = try expectThrows(.relationshipCrossesStores) { try context.save() }
        try album.setObjects([], for: "genres")
        _ = try expectThrows(oneOf: [.uniquenessViolated, .storeCorrupt]) { try context.save() }
      }
      try stack.read { try expectEqual(try $0.number(of: "Album"), 1) }
    }
    Case("a new record related to records of a detached store is saved once the store is attached again") { stack in
      let coordinator = stack.makeCoordinator()
      let locations = try (0..<2).map { _ in try stack.makeLocation() }
      let stores = try locations.map { try stack.attach($0, to: coordinator) }
      let context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
      try context.performAndWait {
        let artist = try context.make("Artist", ["name": "M"])
        let genre = try context.make("Genre", ["name": "G"])
        for object in [artist, genre] { try context.assign(object, to: stores[1]) }
        try context.save()
        let albums = try ["A", "B"].map { try context.make("Album", ["title": $0]) }
        try albums[0].setObject(artist, for: "artist")
        try albums[1].setObjects([genre], for: "genres")
        try coordinator.remove(stores[1])
        _ = try expectThrows(.storeDetached) { try context.save() }
        try stack.attach(locations[1], to: coordinator)
        try context.save()
        for album in albums { try expectEqual(album.objectID.storeIdentifier, stores[1].identifier) }
      }
    }
    Case("a batch insert with a reference to a record of a detached store is refused, and inserts nothing") { stack in
      let coordinator = stack.makeCoordinator()
      let stores = try (0..<2).map { _ in try stack.attach(try stack.makeLocation(), to: coordinator) }
      let context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
      try context.performAndWait {
        let artist = try context.make("Artist", ["name": "M"])
        try context.assign(artist, to: stores[1])
        try context.save()
        try coordinator.remove(stores[1])
        let rows: [[String: AttributeValue]] = [
          ["title": .string("A")], ["title": .string("B"), "artist": .reference(artist.objectID)],
        ]
        _ = try expectThrows(.storeDetached) {
          try context.execute(BatchInsertRequest(entityName: "Album", rows: rows))
        }
        try expectEqual(try context.number(of: "Album"), 0)
      }
    }
    Case("a record of a participant with a reference to a record of a detached store fails the save") { stack in
      let coordinator = stack.makeCoordinator(model: Trails.model)
      let stores = try (0..<2).map { _ in try stack.attach(try stack.makeLocation(), to: coordinator) }
      let context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
      try context.performAndWait {
        let person = try context.make("Person", ["name": "Ada"])
        try context.assign(person, to: stores[1])
        try context.save()
        let id = person.objectID
        let keeper = TrailKeeper(of: "Task") { save in
          let trail = try save.model.entity(named: "Trail")
          var values = trail.defaultValues
          values[try unwrap(trail.attribute(named: "title")).slot] = .string("A")
          values[try unwrap(trail.slots.firstIndex { $0.name == "person" })] = .reference(id)
          try save.insert(trail, values)
        }
        coordinator.addSaveParticipant(keeper)
        try context.make("Task", ["title": "A"])
        _ = try expectThrows(.relationshipCrossesStores) { try context.save() }
        try coordinator.remove(stores[1])
        _ = try expectThrows(.storeDetached) { try context.save() }
        try expectEqual(try context.number(of: "Trail"), 0)
      }
    }
  }
}
