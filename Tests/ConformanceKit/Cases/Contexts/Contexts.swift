import CoherenceCore
import Foundation

extension ConformanceSubject {
  static let contexts = ConformanceSubject("Contexts") {
    identifiers
    pending
    performing
  }

  @CasesBuilder private static var identifiers: [Case] {
    Case("an identifier is temporary until the record is saved") { stack in
      try stack.read { context in
        let album = try context.make("Album", ["title": "A"])
        try expect(album.objectID.isTemporaryID, "a temporary identifier")
        try context.save()
        try expect(!album.objectID.isTemporaryID, "a permanent identifier")
        try expectEqual(album.objectID.storeIdentifier, try stack.store.identifier)
      }
    }
    Case("a permanent identifier is had before the save and stays") { stack in
      try stack.read { context in
        let album = try context.make("Album", ["title": "A"])
        try context.obtainPermanentIDs(for: [album])
        let id = album.objectID
        try expect(!id.isTemporaryID && album.isInserted, "a permanent identifier of a fresh object")
        try stack.read { other in try expectThrows(.objectNotFound) { try other.existingObject(with: id) } }
        try context.save()
        try expectEqual(album.objectID, id)
      }
    }
    Case("a temporary identifier still finds its object after the save") { stack in
      try stack.read { context in
        let album = try context.make("Album", ["title": "A"])
        let temporary = album.objectID
        try context.save()
        try expect(context.registeredObject(with: temporary) === album, "the object")
        try expectEqual(try context.existingObject(with: temporary), album)
        try expectEqual(context.object(with: temporary), album)
      }
    }
    Case("permanent identifiers of many objects are different") { stack in
      try stack.read { context in
        let genres = try (0..<500).map { try context.make("Genre", ["name": "\($0)"]) }
        try context.obtainPermanentIDs(for: genres)
        try expectEqual(Set(genres.map(\.objectID)).count, 500)
        try context.save()
        try expectEqual(try context.number(of: "Genre"), 500)
      }
    }
    Case("an identifier is the same after the store was opened again") { stack in
      let id = try stack.write { context in
        let album = try context.make("Album", ["title": "A"])
        try context.obtainPermanentIDs(for: [album])
        return album.objectID
      }
      try stack.reopen()
      try stack.read { context in
        try expectEqual(try context.one("Album").objectID, id)
        try expectEqual(try context.existingObject(with: id).label, "A")
      }
    }
    Case("an identifier is found again by its description") { stack in
      let id = try stack.write { context in
        let legend = try context.make("Legend", ["name": "Ella"])
        try context.obtainPermanentIDs(for: [legend])
        return legend.objectID
      }
      let text = id.description
      try stack.reopen()
      try expectEqual(stack.coordinator.objectID(forDescription: text), id)
      try expectEqual(stack.coordinator.objectID(forDescription: "x-coherence://nowhere/Album/p1"), nil)
      try expectEqual(stack.coordinator.objectID(forDescription: ""), nil)
    }
    Case("keys are not given out again after the store was opened again") { stack in
      func insert(_ name: String) throws -> ManagedObjectID {
        try stack.write { context in
          let genre = try context.make("Genre", ["name": name])
          try context.obtainPermanentIDs(for: [genre])
          return genre.objectID
        }
      }
      let first = try insert("a")
      try stack.write { $0.delete(try $0.existingObject(with: first)) }
      try stack.reopen()
      try expect(try insert("b") != first, "another identifier than that of a deleted record")
    }
  }

  @CasesBuilder private static var pending: [Case] {
    Case("unsaved inserts are found") { stack in
      try stack.read { context in
        let album = try context.make("Album", ["title": "A", "year": 1959])
        try expectEqual(try context.all("Album"), [album])
        try expectEqual(try context.number(of: "Album", where: equal("year", 1959)), 1)
        try expectEqual(try context.number(of: "Album", where: equal("year", 1960)), 0)
      }
    }
    Case("a fetch evaluates its predicate on unsaved values") { stack in
      try stack.write { context in
        for year in [1959, 1970] { try context.make("Album", ["title": "\(year)", "year": year]) }
      }
      try stack.read { context in
        try context.one("Album", where: equal("year", 1959)).setValue(1970, for: "year")
        try expectEqual(try context.names("Album", where: equal("year", 1970)), ["1959", "1970"])
        try expectEqual(try context.number(of: "Album", where: equal("year", 1970)), 2)
        try expectEqual(try context.number(of: "Album", where: equal("year", 1959)), 0)
      }
    }
    Case("unsaved deletes are not found") { stack in
      try stack.write { context in for title in ["A", "B"] { try context.make("Album", ["title": title]) } }
      try stack.read { context in
        context.delete(try context.one("Album", where: equal("title", "A")))
        try expectEqual(try context.names("Album"), ["B"])
        try expectEqual(try context.number(of: "Album"), 1)
      }
    }
    Case("a fetch evaluates its predicate on unsaved values of a related object") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { context in
        try context.one("Artist", where: equal("name", "Miles")).setValue("FR", for: "country")
        let french = equal("artist.country", "FR")
        try expectEqual(try context.names("Album", where: french), ["Bitches Brew", "Kind of Blue"])
        try expectEqual(try context.number(of: "Album", where: french), 2)
        try expectEqual(try context.names("Album", where: equal("artist.country", "US")), ["Live in Berlin"])
      }
    }
    Case("a fetch evaluates its predicate on unsaved values of members") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { context in
        try context.one("Track", where: equal("title", "Crying")).setValue(9999, for: "length")
        let long = members(.any, "tracks", compare("length", .greater, 2000))
        try expectEqual(try context.names("Album", where: long), ["Debut"])
        let album = try context.one("Album", where: equal("title", "Tago Mago"))
        try album.setObjects([try context.make("Track", ["title": "Halleluhwah", "length": 8888])], for: "tracks")
        try expectEqual(try context.names("Album", where: long), ["Debut", "Tago Mago"])
        try expectEqual(try context.number(of: "Album", where: memberCount("tracks", .equal, 0)), 1)
      }
    }
    Case("a fetch evaluates its predicate on unsaved links") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { context in
        let rock = try context.one("Genre", where: equal("name", "Rock"))
        let debut = try context.one("Album", where: equal("title", "Debut"))
        try debut.setObjects([rock], for: "genres")
        let isRock = members(.any, "genres", equal("name", "Rock"))
        try expectEqual(try context.names("Album", where: isRock), ["Bitches Brew", "Debut", "Tago Mago"])
        try expectEqual(try context.names("Genre", where: memberCount("albums", .equal, 3)), ["Jazz", "Rock"])
      }
    }
    Case("a request that leaves pending changes out sees the store alone") { stack in
      try stack.write { try $0.make("Album", ["title": "A"]) }
      try stack.read { context in
        try context.make("Album", ["title": "B"])
        try context.one("Album", where: equal("title", "A")).setValue("X", for: "title")
        var request = FetchRequest<ManagedObject>(entityName: "Album")
        request.includesPendingChanges = false
        try expectEqual(try context.count(for: request), 1)
        request.predicate = equal("title", "A")
        try expectEqual(try context.fetch(request).count, 1)
      }
    }
    Case("a context lists its unsaved objects") { stack in
      try stack.write { context in for title in ["A", "B"] { try context.make("Album", ["title": title]) } }
      try stack.read { context in
        let inserted = try context.make("Album", ["title": "C"])
        let updated = try context.one("Album", where: equal("title", "A"))
        let deleted = try context.one("Album", where: equal("title", "B"))
        try updated.setValue("X", for: "title")
        context.delete(deleted)
        try expectEqual(context.insertedObjects, [inserted])
        try expectEqual(context.updatedObjects, [updated])
        try expectEqual(context.deletedObjects, [deleted])
        try expect(context.registeredObjects.isSuperset(of: [inserted, updated, deleted]), "all three")
        try context.save()
        try expect(context.insertedObjects.isEmpty && context.updatedObjects.isEmpty, "nothing left")
        try expect(context.deletedObjects.isEmpty && !context.hasChanges, "nothing left")
      }
    }
    Case("a context retains changed objects and releases clean ones") { stack in
      try stack.write { context in for title in ["A", "B"] { try context.make("Album", ["title": title]) } }
      try stack.read { context in
        try context.one("Album", where: equal("title", "A")).setValue("X", for: "title")
        try expectEqual(context.registeredObjects.count, 1)
        try expectEqual(context.updatedObjects.count, 1)
      }
    }
  }

  @CasesBuilder private static var performing: [Case] {
    Case("perform runs on the context and returns a value") { stack in
      let context = stack.context()
      let count = try await context.perform {
        try context.make("Album", ["title": "A"])
        try context.save()
        return try context.number(of: "Album")
      }
      try expectEqual(count, 1)
    }
    Case("perform throws what its body throws") { stack in
      let context = stack.context()
      do {
        try await context.perform { _ = try context.make("Nonsense") }
      } catch ErrorCode.unknownEntity {
        return
      }
      throw ConformanceFailure("expected an error")
    }
    Case("performAndWait may be entered again from within") { stack in
      let context = stack.context()
      try context.performAndWait {
        let album = try context.make("Album", ["title": "A"])
        try context.performAndWait { try album.setValue("B", for: "title") }
        try expectEqual(try album.label, "B")
      }
    }
    Case("blocks of many tasks on one context run one at a time") { stack in
      let context = stack.context()
      try await withThrowingTaskGroup(of: Void.self) { group in
        for index in 0..<50 {
          group.addTask { try await context.perform { _ = try context.make("Genre", ["name": "\(index)"]) } }
        }
        try await group.waitForAll()
      }
      try await context.perform { try context.save() }
      try stack.read { try expectEqual(try $0.number(of: "Genre"), 50) }
    }
    Case("many contexts save at once and nothing is lost") { stack in
      try await withThrowingTaskGroup(of: Void.self) { group in
        for index in 0..<16 {
          let context = stack.context()
          group.addTask {
            try await context.perform {
              for number in 0..<5 { try context.make("Genre", ["name": "\(index).\(number)"]) }
              try context.save()
            }
          }
        }
        try await group.waitForAll()
      }
      try stack.read { try expectEqual(try $0.number(of: "Genre"), 80) }
    }
  }
}
