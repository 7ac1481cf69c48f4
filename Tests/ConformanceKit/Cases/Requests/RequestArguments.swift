import CoherenceCore
import Foundation

extension ConformanceSubject {
  static let requestArguments = ConformanceSubject("Arguments of requests and contexts") {
    counts
    loading
    saves
    places
  }

  private static func request(_ entity: String, where predicate: FetchPredicate? = nil) -> FetchRequest<ManagedObject> {
    var request = FetchRequest<ManagedObject>(entityName: entity)
    request.predicate = predicate
    return request
  }

  @CasesBuilder private static var counts: [Case] {
    Case("a count applies limit and offset in the store and in the evaluator") { stack in
      try stack.write { context in for index in 0..<10 { try context.make("Track", ["title": "T\(index)"]) } }
      func check(_ context: ManagedObjectContext) throws {
        for predicate in [nil, compare("title", .matches, "T[0-9]"), compare("title", .less, "Z")] {
          for (limit, offset, count) in [(3, 0, 3), (3, 8, 2), (3, 10, 0), (20, 4, 6)] {
            var request = request("Track", where: predicate)
            (request.fetchLimit, request.fetchOffset) = (limit, offset)
            try expectEqual(try context.count(for: request), count, "the count")
            try expectEqual(try context.fetch(request).count, count, "the number of fetched objects")
          }
        }
      }
      try stack.read { try check($0) }
      try stack.read { context in
        context.delete(try context.one("Track", where: equal("title", "T3")))
        try context.make("Track", ["title": "T3"])
        try check(context)
      }
    }
    Case("a count leaves out subentities and unsaved changes when asked to") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { context in
        try context.make("Artist", ["name": "fresh"])
        var request = request("Artist")
        try expectEqual(try context.count(for: request), 5)
        request.includesPendingChanges = false
        try expectEqual(try context.count(for: request), 4)
        request.includesSubentities = false
        try expectEqual(try context.count(for: request), 3)
        request.includesPendingChanges = true
        try expectEqual(try context.count(for: request), 4)
      }
    }
  }

  @CasesBuilder private static var loading: [Case] {
    Case("a fetch of faults returns faults and a plain fetch does not") { stack in
      try stack.write { try Music.fill($0) }
      for isFault in [true, false] {
        try stack.read { context in
          var request = request("Album")
          request.returnsObjectsAsFaults = isFault
          let albums = try context.fetch(request)
          try expectEqual(albums.count, 8)
          try expect(albums.allSatisfy { $0.isFault == isFault }, "objects that are \(isFault ? "" : "no ")faults")
        }
      }
    }
    Case("a context lists its registered objects") { stack in
      try stack.write { context in for title in ["A", "B"] { try context.make("Album", ["title": title]) } }
      try stack.read { context in
        try expectEqual(context.registeredObjects, [])
        let saved = try context.all("Album")
        let fresh = try context.make("Album", ["title": "C"])
        try expectEqual(context.registeredObjects, Set(saved + [fresh]))
        try expect(context.registeredObject(with: saved[1].objectID) === saved[1], "the second object")
      }
    }
  }

  @CasesBuilder private static var saves: [Case] {
    Case("a save past the parent is in the store, and the parent's own edits are not") { stack in
      try stack.write { context in for title in ["A", "B"] { try context.make("Album", ["title": title]) } }
      let parent = stack.context()
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
      child.savesPastParent = true
      try parent.performAndWait {
        try parent.one("Album", where: equal("title", "A")).setValue("parent's", for: "title")
      }
      try child.performAndWait {
        try child.one("Album", where: equal("title", "B")).setValue("child's", for: "title")
        try child.save()
      }
      try stack.read { try expectEqual(try $0.names("Album"), ["A", "child's"]) }
      try parent.performAndWait {
        try expectEqual(try parent.names("Album"), ["child's", "parent's"])
        try expectEqual(parent.updatedObjects.count, 1)
      }
    }
    Case("a notification of a save is merged, and another notification is passed over") { stack in
      try stack.write { try $0.make("Album", ["title": "A"]) }
      let context = stack.context()
      let album = try context.performAndWait { try context.one("Album") }
      let writer = stack.context()
      let token = NotificationCenter.default.addObserver(
        forName: .managedObjectContextDidSave, object: writer, queue: nil
      ) { context.mergeChanges(fromContextDidSave: $0) }
      defer { NotificationCenter.default.removeObserver(token) }
      try writer.performAndWait {
        try writer.one("Album").setValue("B", for: "title")
        try writer.save()
      }
      context.mergeChanges(fromContextDidSave: Notification(name: .managedObjectContextDidSave))
      try context.performAndWait { try expectEqual(try album.label, "B") }
    }
    Case("a context that follows another shows its saves, and one that does not follow does not") { stack in
      try stack.write { try $0.make("Album", ["title": "A"]) }
      let (writer, follower, stranger) = (stack.context(), stack.context(), stack.context())
      follower.follow(writer)
      let albums = try [follower, stranger].map { context in
        try context.performAndWait {
          let album = try context.one("Album")
          try album.load()
          return album
        }
      }
      try writer.performAndWait {
        try writer.one("Album").setValue("B", for: "title")
        try writer.save()
      }
      try follower.performAndWait { try expectEqual(try albums[0].label, "B") }
      try stranger.performAndWait { try expectEqual(try albums[1].label, "A") }
    }
  }

  @CasesBuilder private static var places: [Case] {
    Case("a coordinator finds each of its stores by the identifier") { stack in
      let coordinator = stack.makeCoordinator()
      let stores = try (0..<2).map { _ in try stack.attach(try stack.makeLocation(), to: coordinator) }
      for store in stores {
        try expect(coordinator.persistentStore(with: store.identifier) === store, "the store of the identifier")
      }
      try expect(coordinator.persistentStore(with: try stack.store.identifier) == nil, "no store of a stranger")
    }
    Case("a saved object has its place and is not assigned to a store") { stack in
      try stack.read { context in
        let album = try context.make("Album", ["title": "A"])
        try context.assign(album, to: try stack.store)
        try context.save()
        try expectThrows(.illegalState) { try context.assign(album, to: try stack.store) }
        let reserved = try context.make("Album", ["title": "B"])
        try context.obtainPermanentIDs(for: [reserved])
        _ = try expectThrows(.illegalState) { try context.assign(reserved, to: try stack.store) }
      }
    }
    Case("an object is not assigned to a store without its entity") { stack in
      let coordinator = stack.makeCoordinator(model: Shops.model)
      let goods = try stack.attach(try stack.makeLocation(), to: coordinator, configuration: "Goods")
      let held = Set(goods.environment.entities.map(\.name))
      let other = try unwrap(Shops.model.entities.first { !$0.isAbstract && !held.contains($0.name) }, "an entity")
      let context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
      try context.performAndWait {
        let object = try context.insertNewObject(forEntityName: other.name)
        _ = try expectThrows(.noStore) { try context.assign(object, to: goods) }
      }
    }
  }
}
