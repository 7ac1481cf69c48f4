import CoherenceCore
import Foundation

extension ConformanceSubject {
  static let severalStores = ConformanceSubject("Several stores") {
    routing
    besideReadOnlyStores
    crossing
    attaching
    detachedNeighbours
    missingEntities
  }

  /// A model with a configuration without the entity of a relationship that leads to its records.
  private static let kennels = soundModel(configurations: ["People": ["Person"], "All": ["Person", "Pet"]]) {
    Entity("Person", userInfo: [EntityDescription.keySetting: "name"]) { Attribute("name", .string) }
    Entity("Pet") {
      Attribute("name", .string)
      Relationship("owner", toOne: "Person", inverse: nil)
    }
  }

  @CasesBuilder private static var missingEntities: [Case] {
    Case("deletes under an undo history and mergeDuplicates pass over entities without a store") { stack in
      let coordinator = stack.makeCoordinator(model: kennels)
      try stack.attach(try stack.makeLocation(), to: coordinator, configuration: "People")
      let context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
      try context.performAndWait {
        for name in ["a", "a", "b"] { try context.make("Person", ["name": name]) }
        try expectEqual(try context.mergeDuplicates(of: "Person"), 1)
        try context.save()
        context.undoHistory = UndoHistory()
        context.delete(try context.one("Person", where: equal("name", "b")))
        try expectEqual(try context.names("Person"), ["a"])
        try context.save()
        try context.undoHistory?.undo()
        try expectEqual(try context.names("Person"), ["a", "b"])
      }
    }
  }

  /// A coordinator with a store of the backend for goods and one of its companion for people.
  private static func divided(_ stack: ConformanceStack) throws -> (
    context: ManagedObjectContext, goods: any PersistentStore, people: any PersistentStore
  ) {
    let coordinator = stack.makeCoordinator(model: Shops.model)
    let goods = try stack.attach(try stack.makeLocation(), to: coordinator, configuration: "Goods")
    let people = try stack.attach(
      try stack.makeLocation(companion: true), to: coordinator, configuration: "People")
    return (ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator), goods, people)
  }

  @CasesBuilder private static var routing: [Case] {
    Case("a new record is inserted into the store whose configuration has its entity") { stack in
      let (context, goods, people) = try divided(stack)
      try context.performAndWait {
        let article = try context.make("Article", ["name": "a"])
        let customer = try context.make("Customer", ["name": "c"])
        try context.save()
        try expectEqual(article.objectID.storeIdentifier, goods.identifier)
        try expectEqual(customer.objectID.storeIdentifier, people.identifier)
        try expectEqual(try context.names("Article"), ["a"])
        try expectEqual(try context.names("Customer"), ["c"])
      }
    }
    Case("relationships within one of several stores work") { stack in
      let (context, _, _) = try divided(stack)
      try context.performAndWait {
        let customer = try context.make("Customer", ["name": "c"])
        try context.make("Visit", ["name": "v"]).setObject(customer, for: "customer")
        try context.save()
        context.reset()
        try expectEqual(try context.one("Customer").labels(of: "visits"), ["v"])
        context.delete(try context.one("Customer"))
        try context.save()
        try expectEqual(try context.number(of: "Visit"), 0)
      }
    }
    Case("a fetch finds the records of every store that holds the entity") { stack in
      let coordinator = stack.makeCoordinator()
      let stores = try [false, true].map { companion in
        try stack.attach(try stack.makeLocation(companion: companion), to: coordinator)
      }
      let context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
      try context.performAndWait {
        for (index, name) in ["d", "a", "c", "b"].enumerated() {
          let genre = try context.make("Genre", ["name": name])
          try context.assign(genre, to: stores[index % 2])
        }
        try context.save()
        context.reset()
        try expectEqual(try context.names("Genre", sort: [SortKey("name")]), ["a", "b", "c", "d"])
        try expectEqual(try context.number(of: "Genre", where: compare("name", .less, "d")), 3)
        let where0 = Set(try context.all("Genre").map { $0.objectID.storeIdentifier })
        try expectEqual(where0, Set(stores.map(\.identifier)))
        var request = FetchRequest<ManagedObject>(entityName: "Genre")
        request.sortKeys = [SortKey("name", .reverse)]
        request.fetchOffset = 1
        request.fetchLimit = 2
        try expectEqual(try context.fetch(request).map { try $0.label }, ["c", "b"])
      }
    }
    Case("a new record is assigned to a store") { stack in
      let coordinator = stack.makeCoordinator()
      let stores = try (0..<2).map { _ in try stack.attach(try stack.makeLocation(), to: coordinator) }
      let context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
      try context.performAndWait {
        for store in stores {
          let album = try context.make("Album", ["title": "A"])
          try context.assign(album, to: store)
          try context.save()
          try expectEqual(album.objectID.storeIdentifier, store.identifier)
        }
      }
    }
  }

  @CasesBuilder private static var besideReadOnlyStores: [Case] {
    Case("a new record is inserted into the first store that is not read-only") { stack in
      try stack.write { try $0.make("Genre", ["name": "Jazz"]) }
      try stack.close()
      let coordinator = stack.makeCoordinator()
      let archive = try stack.attach(stack.location, to: coordinator, options: [StoreOption.readOnly: true])
      let writable = try stack.attach(try stack.makeLocation(), to: coordinator)
      let context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
      try context.performAndWait {
        let genre = try context.make("Genre", ["name": "Pop"])
        try context.save()
        try expectEqual(genre.objectID.storeIdentifier, writable.identifier)
        let rows: [[String: AttributeValue]] = [["name": .string("Rock")]]
        let request = BatchInsertRequest(entityName: "Genre", rows: rows)
        let batch = try context.execute(request)
        try expectEqual(batch.inserted.map(\.storeIdentifier), [writable.identifier])
        try expectEqual(try context.names("Genre", sort: [SortKey("name")]), ["Jazz", "Pop", "Rock"])
        _ = try expectThrows(.storeReadOnly) { try context.execute(request, in: archive) }
        try context.assign(context.make("Genre", ["name": "Soul"]), to: archive)
        _ = try expectThrows(.storeReadOnly) { try context.save() }
      }
    }
  }

  @CasesBuilder private static var crossing: [Case] {
    Case("a relationship across stores is refused") { stack in
      let (context, _, _) = try divided(stack)
      try context.performAndWait {
        let article = try context.make("Article", ["name": "a"])
        let customer = try context.make("Customer", ["name": "c"])
        try context.save()
        _ = try expectThrows(.relationshipCrossesStores) {
          try article.setObject(customer, for: "buyer")
          try context.save()
        }
      }
    }
    Case("a batch insert with a relationship across stores is refused, and inserts nothing") { stack in
      let (context, _, _) = try divided(stack)
      try context.performAndWait {
        let customer = try context.make("Customer", ["name": "c"])
        try context.save()
        let rows: [[String: AttributeValue]] = [
          ["name": .string("a")], ["name": .string("b"), "buyer": .reference(customer.objectID)],
        ]
        let error = try expectThrows(.relationshipCrossesStores) {
          try context.execute(BatchInsertRequest(entityName: "Article", rows: rows))
        }
        try expect(error.message.contains("Article.buyer"), "the property in '\(error.message)'")
        try expectEqual(try context.number(of: "Article"), 0)
      }
    }
    Case("a relationship across stores between new records is refused") { stack in
      let (context, goods, people) = try divided(stack)
      try context.performAndWait {
        let article = try context.make("Article", ["name": "a"])
        let customer = try context.make("Customer", ["name": "c"])
        try context.assign(article, to: goods)
        try context.assign(customer, to: people)
        _ = try expectThrows(.relationshipCrossesStores) {
          try article.setObject(customer, for: "buyer")
          try context.save()
        }
        context.rollback()
        try expectEqual(try context.number(of: "Customer"), 0)
      }
    }
  }

  @CasesBuilder private static var attaching: [Case] {
    Case("a detached store takes its records along") { stack in
      let (context, goods, _) = try divided(stack)
      let coordinator = try unwrap(context.persistentStoreCoordinator)
      let id = try context.performAndWait {
        let article = try context.make("Article", ["name": "a"])
        try context.make("Customer", ["name": "c"])
        try context.save()
        context.reset()
        return article.objectID
      }
      try coordinator.remove(goods)
      try context.performAndWait {
        try expectEqual(try context.names("Customer"), ["c"])
        try expectThrows(oneOf: [.storeDetached, .noStore, .objectNotFound]) { try context.existingObject(with: id) }
        try context.make("Article", ["name": "b"])
        _ = try expectThrows(oneOf: [.noStore, .storeDetached, .contextWithoutStore]) { try context.save() }
      }
    }
    Case("one place is not attached twice") { stack in
      _ = try expectThrows(.storeAttachedTwice) { try stack.attach(stack.location, to: stack.coordinator) }
      try expectEqual(stack.coordinator.persistentStores.count, 1)
      try stack.write { try $0.make("Album", ["title": "A"]) }
    }
    Case("detaching a store twice throws") { stack in
      let store = try stack.store
      try stack.coordinator.remove(store)
      _ = try expectThrows(.storeDetached) { try stack.coordinator.remove(store) }
    }
    Case("two coordinators on one place see each other's records") { stack in
      let other = try stack.anotherCoordinator()
      try stack.write { try $0.make("Album", ["title": "A"]) }
      let context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: other)
      try context.performAndWait {
        try context.one("Album").setValue("B", for: "title")
        try context.save()
      }
      try stack.read { try expectEqual(try $0.names("Album"), ["B"]) }
    }
    Case("two coordinators on one place never share a key") { stack in
      let other = try stack.anotherCoordinator()
      var ids: Set<ManagedObjectID> = []
      for index in 0..<10 {
        let coordinator = index % 2 == 0 ? other : stack.coordinator
        let context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
        try context.performAndWait {
          let albums = try (0..<10).map { try context.make("Album", ["title": "\($0)"]) }
          try context.save()
          ids.formUnion(albums.map(\.objectID))
        }
      }
      try expectEqual(ids.count, 100)
      try stack.read { try expectEqual(try $0.number(of: "Album"), 100) }
    }
  }

  // MARK: Neighbours of detached stores

  /// Two albums of one fetch, each in a store of its own with its artist and its track.
  private struct Neighbours {
    let coordinator: PersistentStoreCoordinator
    let context: ManagedObjectContext
    let albums: [ManagedObject]

    init(_ stack: ConformanceStack) throws {
      let coordinator = stack.makeCoordinator()
      let stores = try [false, true].map { companion in
        try stack.attach(try stack.makeLocation(companion: companion), to: coordinator)
      }
      let context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
      albums = try context.performAndWait {
        for (store, name) in zip(stores, ["a", "b"]) {
          let album = try context.make("Album", ["title": name])
          let artist = try context.make("Artist", ["name": name])
          let track = try context.make("Track", ["title": name])
          for object in [album, artist, track] { try context.assign(object, to: store) }
          try album.setObject(artist, for: "artist")
          try album.setObjects([track], for: "tracks")
        }
        try context.save()
        context.reset()
        return try context.all("Album", sort: [SortKey("title")])
      }
      self.coordinator = coordinator
      self.context = context
    }

    /// Detaches the store of the second album.
    func detachSecond() throws { try coordinator.remove(coordinator.persistentStores[1]) }
  }

  @CasesBuilder private static var detachedNeighbours: [Case] {
    Case("relationships of an attached store's record are read although a neighbour's store was detached") { stack in
      let neighbours = try Neighbours(stack)
      try neighbours.detachSecond()
      try neighbours.context.performAndWait {
        try expectEqual(try neighbours.albums[0].labels(of: "tracks"), ["a"])
        try expectEqual(try neighbours.albums[0].object(for: "artist")?.label, "a")
      }
    }
    Case("a fault of an attached store is loaded although a neighbour's store was detached") { stack in
      let neighbours = try Neighbours(stack)
      try neighbours.detachSecond()
      try neighbours.context.performAndWait {
        neighbours.context.refreshAll()
        try expectEqual(try neighbours.albums[0].label, "a")
        _ = try expectThrows(.storeDetached) { try neighbours.albums[1].load() }
      }
    }
    Case("a list loads the records of an attached store although the store of others was detached") { stack in
      let neighbours = try Neighbours(stack)
      let context = neighbours.context
      let list = try context.performAndWait {
        context.reset()
        return try context.list(FetchRequest<Album>().sort("title"))
      }
      try neighbours.detachSecond()
      try context.performAndWait {
        try expectEqual(list[0].title, "a")
        try expect(list[1].isUnavailable && !list[1].isDeleted, "a record that cannot be read")
        try expectEqual(list[0].title, "a")
      }
    }
    Case("a fetch neither loads relationships of a changed record of a detached store, nor applies its delete rules") {
      stack in
      let neighbours = try Neighbours(stack)
      let context = neighbours.context
      try context.performAndWait { try neighbours.albums[1].setValue(1959, for: "year") }
      try neighbours.detachSecond()
      try context.performAndWait {
        var request = FetchRequest<ManagedObject>(entityName: "Album")
        request.relationshipsForPrefetching = ["tracks", "artist"]
        try expect(try context.fetch(request).contains { $0 === neighbours.albums[0] }, "the attached store's record")
        context.delete(neighbours.albums[1])
        try expectEqual(try context.names("Album"), ["a"])
        try expectEqual(try neighbours.albums[0].labels(of: "tracks"), ["a"])
        _ = try expectThrows(.storeDetached) { try context.save() }
      }
    }
    Case("a fetch by related records finds records of an attached store beside changed ones of a detached store") {
      stack in
      let neighbours = try Neighbours(stack)
      let context = neighbours.context
      try context.performAndWait {
        try context.one("Track", where: equal("title", "b")).setValue("c", for: "title")
        try context.one("Artist", where: equal("name", "b")).setValue("c", for: "name")
      }
      try neighbours.detachSecond()
      try context.performAndWait {
        for condition in ["ANY tracks.title == 'a'", "artist.name == 'a'"] {
          try expectEqual(try context.names("Album", where: FetchPredicate(format: condition)), ["a"])
        }
      }
    }
    Case("a fetch reads no members of a changed record of a detached store whose own values decide") { stack in
      let neighbours = try Neighbours(stack)
      let context = neighbours.context
      try context.performAndWait { for album in neighbours.albums { try album.setValue(1959, for: "year") } }
      try neighbours.detachSecond()
      try context.performAndWait {
        let condition = try FetchPredicate(format: "year == 1959 OR tracks.@count > 5")
        try expect(try context.names("Album", where: condition).contains("a"), "the attached store's record")
      }
    }
    Case("the deleted objects include a cascade in an attached store although the store of another one was detached") {
      stack in
      let neighbours = try Neighbours(stack)
      let context = neighbours.context
      try context.performAndWait { try neighbours.albums[1].setValue(1959, for: "year") }
      try neighbours.detachSecond()
      try context.performAndWait {
        for album in neighbours.albums { context.delete(album) }
        let names = context.deletedObjects.map(\.entity.name).sorted()
        try expectEqual(names, ["Album", "Album", "Track"])
        _ = try expectThrows(.storeDetached) { try context.save() }
      }
    }
    Case("a refresh of all objects reaches an attached store although a changed record's store was detached") { stack in
      let neighbours = try Neighbours(stack)
      let context = neighbours.context
      try context.performAndWait {
        for album in neighbours.albums { try album.setValue(1959, for: "year") }
      }
      try neighbours.detachSecond()
      let writer = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: neighbours.coordinator)
      try writer.performAndWait {
        try writer.one("Album").setValue("c", for: "title")
        try writer.save()
      }
      try context.performAndWait {
        context.refreshAll()
        try expectEqual(try neighbours.albums[0].label, "c")
        try expectEqual(try neighbours.albums[0].value(for: "year"), .int(1959))
        try expectEqual(try neighbours.albums[1].label, "b")
      }
    }
  }
}
