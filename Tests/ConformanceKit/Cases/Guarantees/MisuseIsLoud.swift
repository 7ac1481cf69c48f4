import CoherenceCore

extension ConformanceSubject {
  static let misuseIsLoud = ConformanceSubject("Misuse is loud") {
    stores
    registries
    sentences
  }

  @CasesBuilder private static var stores: [Case] {
    Case("a closed store refuses to read and to write") { stack in
      let store = try stack.store
      let root = try stack.model.entity(named: "Genre")
      let reader = try store.makeReader()
      _ = try reader.rows([1], of: root)
      // A store may reserve more keys than it hands out, and a closed one keeps them to itself.
      _ = try store.allocateKeys(1, for: root)
      store.close()
      store.close()
      try expectThrows(.storeDetached) { try reader.rows([1], of: root) }
      try expectThrows(.storeDetached) { try store.makeReader().rows([1], of: root) }
      try expectThrows(.storeDetached) { try store.save(StoreSaveRequest(steps: [])) }
      try expectThrows(.storeDetached) { try store.allocateKeys(1, for: root) }
    }
    Case("a store opened for reading refuses to be written") { stack in
      try stack.write { try $0.make("Genre", ["name": "Jazz"]) }
      try stack.reopen(options: [StoreOption.readOnly: true])
      try stack.read { context in
        let genre = try context.one("Genre")
        try expectEqual(try genre.label, "Jazz")
        try genre.setValue("Pop", for: "name")
        try expectThrows(.storeReadOnly) { try context.save() }
        try expectThrows(.storeReadOnly) { try context.obtainPermanentIDs(for: [context.make("Genre")]) }
      }
      try expectThrows(.storeReadOnly) { try stack.store.setUserInfo(["key": "value"]) }
      try stack.reopen()
      try stack.read { try expectEqual(try $0.names("Genre"), ["Jazz"]) }
    }
    Case("a record is not assigned to a detached store") { stack in
      let coordinator = stack.makeCoordinator()
      let stranger = try stack.attach(try stack.makeLocation(), to: coordinator)
      try stack.read { context in
        let genre = try context.make("Genre", ["name": "Jazz"])
        try expectThrows(oneOf: [.storeDetached, .noStore]) { try context.assign(genre, to: stranger) }
      }
    }
    Case("a store is not removed from a coordinator that does not have it") { stack in
      let coordinator = stack.makeCoordinator()
      let stranger = try stack.attach(try stack.makeLocation(), to: coordinator)
      try expectThrows(.storeDetached) { try stack.coordinator.remove(stranger) }
      try expectEqual(coordinator.persistentStores.count, 1)
    }
    Case("an option of another type is refused") { stack in
      let coordinator = stack.makeCoordinator()
      let location = try stack.makeLocation()
      let error = try expectThrows(.invalidOption) {
        try stack.attach(location, to: coordinator, options: [StoreOption.readOnly: "yes"])
      }
      try expect(error.message.contains(StoreOption.readOnly), "the message to name the option")
    }
  }

  @CasesBuilder private static var registries: [Case] {
    Case("a store type is registered once") { stack in
      let registry = StoreRegistry()
      let type = stack.location.type
      let factory = try StoreRegistry.current.factory(for: type)
      try registry.register(type, factory: factory)
      let error = try expectThrows(.storeTypeRegisteredTwice) { try registry.register(type, factory: factory) }
      try expect(error.message.contains(type.name), "the message to name the type")
      try expectEqual(registry.registeredTypes, [type.name])
    }
    Case("a store type is found by its bare name in the registry of its coordinator") { stack in
      let registry = StoreRegistry()
      let location = try stack.makeLocation()
      try registry.register(location.type, factory: try StoreRegistry.current.factory(for: location.type))
      let coordinator = PersistentStoreCoordinator(managedObjectModel: stack.model, registry: registry)
      let store = try stack.attach(location, to: coordinator, type: StoreType(location.type.name))
      try expectEqual(store.type, location.type)
      try coordinator.remove(store)
    }
  }

  /// Misuses, each of which must throw an error with a code and a sentence.
  private static let misuses: [@Sendable (ManagedObjectContext) throws -> Void] = [
    { try $0.make("Nonsense") },
    { try $0.make("Album").setValue(1, for: "title") },
    { try $0.make("Album").setValue(1, for: "nonsense") },
    { _ = try $0.make("Album").objects(for: "title") },
    { try $0.make("Album").setObject(try $0.make("Genre"), for: "artist") },
    { _ = try $0.all("Album", where: equal("nonsense", 1)) },
    { _ = try $0.all("Album", sort: [SortKey("tracks")]) },
    {
      try $0.make("Album")
      try $0.save()
    },
  ]

  @CasesBuilder private static var sentences: [Case] {
    Case("every misuse throws an error with a message") { stack in
      for (index, misuse) in misuses.enumerated() {
        try stack.read { context in
          do {
            try misuse(context)
          } catch let error as CoherenceError {
            try expect(error.message.count > 20, "a sentence for misuse \(index)")
            try expect(error.message.hasSuffix(".") || error.message.hasSuffix(":"), "an end of the sentence \(index)")
            return
          }
          throw ConformanceFailure("expected misuse \(index) to be refused")
        }
      }
    }
    Case("an order by a to-many relationship is refused") { stack in
      try stack.write { try $0.make("Album", ["title": "A"]) }
      try stack.read { context in
        _ = try expectThrows(oneOf: [.invalidPredicate, .invalidFetchRequest]) {
          try context.all("Album", sort: [SortKey("tracks")])
        }
      }
    }
    Case("a negative limit or offset is refused") { stack in
      try stack.read { context in
        var request = FetchRequest<ManagedObject>(entityName: "Album")
        request.fetchLimit = -1
        _ = try expectThrows(.invalidFetchRequest) { try context.fetch(request) }
        request.fetchLimit = nil
        request.fetchOffset = -1
        _ = try expectThrows(.invalidFetchRequest) { try context.fetch(request) }
      }
    }
  }
}
