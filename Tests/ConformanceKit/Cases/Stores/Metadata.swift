import CoherenceCore

extension ConformanceSubject {
  static let metadata = ConformanceSubject("Metadata") {
    Case("a store has the same identifier whenever it is opened") { stack in
      let identifier = try stack.store.identifier
      try expectEqual(try stack.coordinator.metadata(for: try stack.store).identifier, identifier)
      try stack.reopen()
      try expectEqual(try stack.store.identifier, identifier)
      try expectEqual(try stack.coordinator.metadata(for: try stack.store).identifier, identifier)
    }
    Case("two stores have two identifiers") { stack in
      let coordinator = stack.makeCoordinator()
      let other = try stack.attach(try stack.makeLocation(), to: coordinator)
      try expect(try stack.store.identifier != other.identifier, "two identifiers")
    }
    Case("the metadata contains the version hashes of the entities") { stack in
      let metadata = try stack.coordinator.metadata(for: try stack.store)
      try expectEqual(metadata.versionHashes, stack.model.versionHashes.mapValues(\.rawValue))
      try expect(stack.model.isConfiguration(nil, compatibleWith: metadata), "the model to fit")
    }
    Case("the metadata contains the store's type") { stack in
      try expectEqual(try stack.store.metadata().type, stack.location.type.name)
    }
    Case("the environment of a store leads its factory to the store") { stack in
      let (store, location) = (try stack.store, stack.location)
      let factory = try stack.coordinator.factory(for: location.type)
      let given = stack.coordinator.environment(
        type: location.type, configurationName: nil, at: location.url, options: location.options)
      // A store without a location, such as one in memory without a name, is found by no environment.
      guard try factory.metadata(given) != nil else { return }
      let found = try factory.metadata(store.environment)
      try expectEqual(found?.identifier, store.identifier, "the identifier of the found store")
    }
    Case("user info in the metadata is kept") { stack in
      let userInfo = ["a": "1", "'\"": "ä\n", "": ""]
      try stack.store.setUserInfo(userInfo)
      try expectEqual(try stack.store.metadata().userInfo, userInfo)
      try stack.reopen()
      try expectEqual(try stack.store.metadata().userInfo, userInfo)
      try stack.store.setUserInfo([:])
      try expectEqual(try stack.store.metadata().userInfo, [:])
    }
    Case("a store of a configuration holds the entities of the configuration") { stack in
      let coordinator = stack.makeCoordinator(model: Shops.model)
      let store = try stack.attach(try stack.makeLocation(), to: coordinator, configuration: "Goods")
      try expectEqual(store.configurationName, "Goods")
      try expectEqual(Set(try store.metadata().versionHashes.keys), ["Article"])
    }
  }
}
