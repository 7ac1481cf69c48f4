import CoherenceCore
import Foundation

/// The stores of new records that relationships connect.
extension ConformanceSubject {
  static let storesOfNewRecords = ConformanceSubject("Stores of new records") {
    relatedRecords
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
}
