import CoherenceCore
import CoherenceInMemory
import CoherenceSQLite
import CoherenceStrategies
import Foundation
import Logging
import Testing
import TestSupport

@Suite("Persistent containers")
struct PersistentContainerTests {
  typealias Container = GenericPersistentContainer<ContextStrategy.Mixed>

  @Test func `a container uses the model registered under its name`() throws {
    let name = "Registered-\(UUID().uuidString)"
    let model = try ContainerModels.makeUsers(name: name)
    try model.register()
    let container = try Container(name: name)
    #expect(container.name == name)
    #expect(container.managedObjectModel === model)
    #expect(container.managedObjectModel == ContainerModels.users)
  }

  @Test func `a container made by the name of its model has the directory, handler, stores and log of its arguments`()
    async throws
  {
    let name = "Registered-\(UUID().uuidString)"
    try ContainerModels.makeUsers(name: name).register()
    let (directory, log, registry) = (TemporaryDirectory(), MessageLog(), StoreRegistry())
    try registry.register(.inMemory)
    let errors = AsyncStream.makeStream(of: Void.self)
    let container = try Container(
      name: name, storeLocation: directory.url, asyncErrorBlock: { _ in errors.continuation.finish() },
      registry: registry, logger: log.logger)
    #expect(container.storeLocation == directory.url)
    // The name of the type has no factory by itself.
    try container.attachPersistentStore(for: StoreConfiguration(type: "InMemory"))
    container.errorHandler(TestError())
    for await _ in errors.stream {}
    #expect(log.texts(.error).contains { $0.contains("An error had no caller") })
  }

  @Test func `the error of a missing model lists the registered models`() {
    #expect { try Container(name: "No such model") } throws: { error in
      ErrorCode.modelNotFound ~= error && "\(error)".contains("No such model")
    }
  }

  @Test func `a container has the given name and model`() {
    let container = Container(name: "Other", managedObjectModel: ContainerModels.users)
    #expect(container.name == "Other")
    #expect(container.managedObjectModel === ContainerModels.users)
    #expect(container.persistentStoreCoordinator.managedObjectModel === ContainerModels.users)
    #expect(container.persistentStoreCoordinator.persistentStores.isEmpty)
  }

  @Test func `the default location follows the platform's conventions`() {
    #if os(Linux)
      #expect(DefaultStoreLocation.url(environment: ["XDG_DATA_HOME": "/data"]).path == "/data/Coherence")
      let home = NSHomeDirectory() + "/.local/share/Coherence"
      #expect(DefaultStoreLocation.url(environment: [:]).path == home)
      #expect(DefaultStoreLocation.url(environment: ["XDG_DATA_HOME": "relative"]).path == home)
    #endif
    #expect(Container.defaultStoreLocation().lastPathComponent == "Coherence")
    #expect(
      Container(name: "Default", managedObjectModel: ContainerModels.users).storeLocation
        == Container.defaultStoreLocation())
  }

  @Test func `a subclass of the container works as a container`() throws {
    final class Tenant: GenericPersistentContainer<ContextStrategy.Direct>, @unchecked Sendable {
      // Sendable: as the base class is; it adds nothing.
      override class func defaultStoreLocation() -> URL { URL(fileURLWithPath: "/tenants", isDirectory: true) }
    }
    let container = Tenant(name: "Tenant", managedObjectModel: ContainerModels.users)
    #expect(container.storeLocation.path == "/tenants")
  }

  @Test func `the release of a container closes its stores`() throws {
    let directory = TemporaryDirectory()
    var context: BackgroundContext?
    var store: (any PersistentStore)?
    do {
      let container = Container(
        name: "Closing", managedObjectModel: ContainerModels.users, storeLocation: directory.url)
      store = try container.attachPersistentStore(for: StoreConfiguration(type: .sqlite))
      context = container.newBackgroundContext()
    }
    let survivor = try #require(context)
    survivor.performAndWait {
      #expect(throws: CoherenceError.self) { try survivor.fetch(FetchRequest(ContainerUser.self)) }
      #expect(throws: CoherenceError.self) {
        _ = try ContainerUser.insert(named: "ada", into: survivor)
        try survivor.save()
      }
    }
    #expect { try store?.makeReader().fetch(StoreQuery(entity: ContainerModels.users.entities[0])) } throws: {
      ErrorCode.storeDetached ~= $0
    }
  }

  @Test func `a container opens the file of an earlier container`() throws {
    let directory = TemporaryDirectory()
    for round in 0..<3 {
      let container = Container(
        name: "Reopened", managedObjectModel: ContainerModels.users, storeLocation: directory.url)
      try container.attachPersistentStore(for: StoreConfiguration(type: .sqlite))
      let context = container.newBackgroundContext()
      try context.performAndWait {
        #expect(try context.count(for: FetchRequest(ContainerUser.self)) == round)
        _ = try ContainerUser.insert(named: "user \(round)", into: context)
        try context.save()
      }
    }
  }
}
