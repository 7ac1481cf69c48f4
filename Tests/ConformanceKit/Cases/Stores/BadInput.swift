import CoherenceCore

extension ConformanceSubject {
  static let badInput = ConformanceSubject("Bad input") {
    names
    requests
    objectsInWrongPlaces
    deleted
  }

  private static func refused(
    _ sentence: String, _ code: ErrorCode, naming words: [String] = [],
    _ body: @escaping @Sendable (ManagedObjectContext) throws -> Void
  ) -> Case {
    Case(sentence) { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { context in
        let error = try expectThrows(code) { try body(context) }
        for word in words { try expect(error.message.contains(word), "the message to name '\(word)'") }
        try expect(!context.hasChanges, "no change")
      }
    }
  }

  @CasesBuilder private static var names: [Case] {
    refused("inserting an unknown entity is refused", .unknownEntity, naming: ["Nonsense", "Album"]) {
      try $0.make("Nonsense")
    }
    refused("fetching an unknown entity is refused", .unknownEntity, naming: ["Nonsense"]) {
      _ = try $0.all("Nonsense")
    }
    refused("counting an unknown entity is refused", .unknownEntity, naming: ["Nonsense"]) {
      _ = try $0.number(of: "Nonsense")
    }
    refused("reading an unknown property is refused", .unknownProperty, naming: ["nonsense", "Genre"]) {
      _ = try $0.all("Genre")[0].value(for: "nonsense")
    }
    refused("writing an unknown property is refused", .unknownProperty, naming: ["nonsense", "Genre"]) {
      try $0.all("Genre")[0].setValue(1, for: "nonsense")
    }
    refused("an unknown relationship is refused", .unknownProperty, naming: ["nonsense"]) {
      _ = try $0.all("Genre")[0].objects(for: "nonsense")
    }
    refused("reading a to-many relationship as a value is refused", .wrongType, naming: ["albums"]) {
      _ = try $0.all("Genre")[0].value(for: "albums")
    }
    refused("reading an attribute as an object is refused", .wrongType, naming: ["name"]) {
      _ = try $0.all("Genre")[0].object(for: "name")
    }
    refused("reading a to-one relationship as members is refused", .wrongType, naming: ["parent"]) {
      _ = try $0.all("Genre")[0].objects(for: "parent")
    }
    refused("writing a value to a relationship is refused", .wrongType, naming: ["parent"]) {
      try $0.all("Genre")[0].setValue("Jazz", for: "parent")
    }
    refused("reading a value as another type is refused", .wrongType, naming: ["title"]) {
      _ = try $0.all("Album")[0].value(for: "title", as: Int.self)
    }
  }

  @CasesBuilder private static var requests: [Case] {
    refused("a condition on an unknown property is refused", .unknownProperty, naming: ["nonsense"]) {
      _ = try $0.all("Album", where: equal("nonsense", 1))
    }
    refused("a condition on an unknown property of a related entity is refused", .unknownProperty, naming: ["nonsense"])
    {
      _ = try $0.all("Album", where: equal("artist.nonsense", 1))
    }
    refused("an order by an unknown property is refused", .unknownProperty, naming: ["nonsense"]) {
      _ = try $0.all("Album", sort: [SortKey("nonsense")])
    }
    refused("a path that goes on after an attribute is refused", .invalidPredicate, naming: ["title"]) {
      _ = try $0.all("Album", where: equal("title.length", 1))
    }
    refused("a path through a to-many relationship is refused", .invalidPredicate, naming: ["tracks"]) {
      _ = try $0.all("Album", where: equal("tracks.length", 1))
    }
    refused("a text condition on a number is refused", .invalidPredicate, naming: ["year"]) {
      _ = try $0.all("Album", where: compare("year", .beginsWith, "19"))
    }
    refused("a number compared with text is refused", .invalidPredicate, naming: ["year"]) {
      _ = try $0.all("Album", where: equal("year", "1959"))
    }
    refused("a condition on the members of an attribute is refused", .invalidPredicate) {
      _ = try $0.all("Album", where: members(.any, "title", .constant(true)))
    }
    refused("a count of an attribute is refused", .invalidPredicate) {
      _ = try $0.all("Album", where: memberCount("title", .equal, 1))
    }
    refused("a count with a bad condition is refused", .unknownProperty) {
      _ = try $0.number(of: "Album", where: equal("nonsense", 1))
    }
  }

  @CasesBuilder private static var objectsInWrongPlaces: [Case] {
    Case("an object of another context is refused as a target") { stack in
      let (one, other) = (stack.context(), stack.context())
      try one.performAndWait {
        try other.performAndWait {
          let artist = try one.make("Artist", ["name": "M"])
          let album = try other.make("Album", ["title": "A"])
          try expectThrows(.wrongContext) { try album.setObject(artist, for: "artist") }
          try expectThrows(.wrongContext) { try artist.setObjects([album], for: "albums") }
          try expectEqual(try album.object(for: "artist"), nil)
          try expectEqual(try artist.objects(for: "albums"), [])
        }
      }
    }
    Case("an object of another entity is refused as a target") { stack in
      try stack.read { context in
        let album = try context.make("Album", ["title": "A"])
        let genre = try context.make("Genre", ["name": "G"])
        try expectThrows(.wrongType) { try album.setObject(genre, for: "artist") }
        try expectThrows(.wrongType) { try album.setObjects([album], for: "genres") }
        try expectEqual(try album.object(for: "artist"), nil)
      }
    }
    Case("a context without a coordinator throws") { _ in
      let context = ManagedObjectContext(concurrencyType: .privateQueue)
      try context.performAndWait {
        try expectThrows(.contextWithoutStore) { try context.insertNewObject(forEntityName: "Album") }
        try expectThrows(.contextWithoutStore) { try context.all("Album") }
        _ = try expectThrows(.contextWithoutStore) { try context.number(of: "Album") }
      }
    }
    Case("a coordinator without stores throws") { stack in
      let coordinator = stack.makeCoordinator()
      let context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
      try context.performAndWait {
        try context.make("Album", ["title": "A"])
        _ = try expectThrows(oneOf: [.contextWithoutStore, .noStore]) { try context.save() }
        try expect(context.hasChanges, "the change to be kept")
      }
    }
    Case("a save into a closed store reports the missing store") { stack in
      try stack.write { try $0.make("Album", ["title": "A"]) }
      let context = stack.context()
      try context.performAndWait {
        let album = try context.one("Album")
        try stack.close()
        try album.setValue("B", for: "title")
        _ = try expectThrows(oneOf: [.storeDetached, .noStore, .contextWithoutStore]) { try context.save() }
      }
    }
    Case("an unknown store type lists the known ones") { stack in
      let coordinator = PersistentStoreCoordinator(managedObjectModel: stack.model, registry: StoreRegistry())
      let error = try expectThrows(.unknownStoreType) {
        try coordinator.addPersistentStore(StoreConfiguration(type: "Nonsense"), at: nil)
      }
      try expect(error.message.contains("Nonsense"), "the message to name the type")
    }
  }

  @CasesBuilder private static var deleted: [Case] {
    Case("an object with a saved delete is refused everywhere") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { context in
        let artist = try context.one("Artist", where: equal("name", "Miles"))
        context.delete(artist)
        try context.save()
        try expectThrows(.objectDeleted) { try artist.value(for: "name") }
        try expectThrows(.objectDeleted) { try artist.setValue("X", for: "name") }
        try expectThrows(.objectDeleted) { try artist.objects(for: "albums") }
        let album = try context.one("Album", where: equal("title", "Debut"))
        try expectThrows(oneOf: [.objectDeleted, .wrongContext]) { try album.setObject(artist, for: "artist") }
        try expect(!context.hasChanges, "no change")
      }
    }
    Case("writing to an object marked for deletion throws") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { context in
        let genre = try context.one("Genre", where: equal("name", "Pop"))
        context.delete(genre)
        try expectThrows(.objectDeleted) { try genre.setValue("X", for: "name") }
        try context.save()
      }
      try stack.read { try expectEqual(try $0.names("Genre"), ["Jazz", "Modal", "Rock"]) }
    }
    Case("deleting an object twice deletes the object once") { stack in
      try stack.write { try $0.make("Genre", ["name": "G"]) }
      try stack.read { context in
        let genre = try context.one("Genre")
        context.delete(genre)
        context.delete(genre)
        try context.save()
        context.delete(genre)
        try expect(!context.hasChanges, "nothing to save")
      }
      try stack.read { try expectEqual(try $0.number(of: "Genre"), 0) }
    }
  }
}
