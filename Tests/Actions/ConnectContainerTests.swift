import CoherenceActions
import CoherenceCore
import CoherenceInMemory
import CoherenceSQLite
import CoherenceStrategies
import Foundation
import Logging
import Testing
import TestSupport

@MainActor
@Suite("A Connect as a container")
struct ConnectContainerTests {
  @Test func `the default store location of a Connect is that of containers`() {
    #expect(
      TestConnect.defaultStoreLocation()
        == GenericPersistentContainer<ContextStrategy.Mixed>.defaultStoreLocation())
  }

  @Test func `a Connect is made for the registered model of its name, or throws`() throws {
    let name = "Connect-\(UUID().uuidString)"
    let model = try ManagedObjectModel(name: name) { Entity("A") { Attribute("id", .int64) } }
    try model.register()
    #expect(try TestConnect(name: name).managedObjectModel === model)
    #expect { try TestConnect(name: "Missing") } throws: { ErrorCode.modelNotFound ~= $0 }
  }

  @Test func `a Connect made by the name of its model has the directory, stores, log and options of its arguments`()
    async throws
  {
    let name = "Connect-\(UUID().uuidString)"
    let model = try ManagedObjectModel(name: name) { Entity("A") { Attribute("id", .int64) } }
    try model.register()
    let (directory, log, registry) = (TemporaryDirectory(), MessageLog(), StoreRegistry())
    try registry.register(.inMemory)
    let errors = AsyncStream.makeStream(of: Void.self)
    let connect = try TestConnect(
      name: name, storeLocation: directory.url, asyncErrorBlock: { _ in errors.continuation.finish() },
      registry: registry, logger: log.logger, options: ConnectOptions(maximumConcurrentGenericActions: 1))
    #expect(connect.storeLocation == directory.url)
    try connect.attachPersistentStore(for: StoreConfiguration(type: "InMemory"))
    try await connect.start()
    connect.errorHandler(MockError())
    for await _ in errors.stream {}
    #expect(log.texts(.error).contains { $0.contains("An error had no caller") })
    // The action occupies the only lane of generic actions, and awaits an action behind it.
    let handle = try connect.execute(
      TaskAction<Void> {
        let next = try connect.execute(MockGenericAction())
        try await next.waitUntilFinished()
      })
    await #expect { try await handle.value } throws: { ErrorCode.deadlock ~= $0 }
  }

  @Test func `a new Connect has its name and model and opens no store`() throws {
    let stack = try ConnectStack()
    #expect(stack.connect.name == "Connect")
    #expect(stack.connect.managedObjectModel === ConnectModels.main)
    #expect(stack.connect.persistentStoreCoordinator.persistentStores.isEmpty)
  }

  @Test func `a stopped Connect attaches and detaches stores`() throws {
    let stack = try ConnectStack()
    let store = try stack.connect.attachPersistentStore(for: StoreConfiguration())
    #expect(stack.directory.has("Connect.sqlite"))
    try stack.connect.detach(persistentStore: store)
    #expect(stack.connect.persistentStoreCoordinator.persistentStores.isEmpty)
    let stores = try stack.connect.attachPersistentStores(for: [])
    #expect(stores.count == 1)
    try stack.connect.detach(persistentStores: stores)
    #expect { try stack.connect.detach(persistentStores: stores) } throws: { ErrorCode.storeDetached ~= $0 }
  }

  @Test func `configurations that the model does not know are attached as files of their own`() throws {
    let stack = try ConnectStack()
    let stores = try stack.connect.attachPersistentStores(for: [
      StoreConfiguration(name: "TransientEntities"), StoreConfiguration(name: "PersistentEntities"),
    ])
    #expect(stack.directory.has("Connect.transiententities.sqlite"))
    #expect(stack.directory.has("Connect.persistententities.sqlite"))
    try stack.connect.detach(persistentStores: stores)
  }

  @Test func `a store can be attached after the start`() throws {
    let stack = try ConnectStack()
    try stack.connect.attachPersistentStore(for: StoreConfiguration(fileName: "1.sqlite"))
    try stack.connect.start()
    try stack.connect.attachPersistentStore(for: StoreConfiguration(fileName: "2.sqlite"))
    #expect(stack.directory.has("1.sqlite") && stack.directory.has("2.sqlite"))
    try stack.connect.stop()
    #expect(stack.connect.persistentStoreCoordinator.persistentStores.isEmpty)
  }

  @Test func `a store that is removed from the coordinator is released when another store is attached`() throws {
    let stack = try ConnectStack()
    weak var removed: (any PersistentStore)?
    try {
      let store = try stack.connect.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
      removed = store
      try stack.connect.persistentStoreCoordinator.remove(store)
    }()
    try stack.connect.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
    #expect(removed == nil)
    #expect(stack.connect.persistentStoreCoordinator.persistentStores.count == 1)
  }

  @Test func `a shared store stays attached while the stores of users are attached and detached`() throws {
    let stack = try ConnectStack(try StoresByUser.model())
    let connect = stack.connect
    let global = StoreConfiguration(name: "GlobalData", type: .sqlite)
    try connect.attachPersistentStore(at: stack.directory.url, for: global)
    for user in ["ada", "grace"] {
      let place = stack.directory.url.appendingPathComponent(user)
      let stores = try connect.attachPersistentStores(
        at: place,
        for: [
          StoreConfiguration(name: "TransientData", type: .inMemory),
          StoreConfiguration(name: "PersistentData", type: .sqlite),
        ])
      try connect.start()
      #expect(connect.persistentStoreCoordinator.persistentStores.count == 3)
      #expect(stack.directory.has("\(user)/Connect.persistentdata.sqlite"))
      #expect(
        ["Global", "Transient", "Persistent"].allSatisfy { name in
          connect.managedObjectModel.entitiesByName[name].map { connect.isManaged($0) } == true
        })
      try connect.detach(persistentStores: stores)
      try connect.stop()
    }
    #expect(stack.directory.has("Connect.globaldata.sqlite"))
  }

  /// A model whose entities live in stores of their own.
  private enum StoresByUser {
    static func model() throws -> ManagedObjectModel {
      let names = ["Global", "Transient", "Persistent"]
      let entities = names.map { name in
        Entity(name, userInfo: ["uniquenessAttributes": "id"]) { Attribute("id", .int64, optional: true) }
      }
      let configurations = Dictionary(uniqueKeysWithValues: names.map { ("\($0)Data", [$0]) })
      return try ManagedObjectModel(entities: entities, configurations: configurations)
    }
  }

  @Test func `a store of another model is refused without migration`() throws {
    let directory = TemporaryDirectory()
    func makeConnect(_ model: ManagedObjectModel) -> TestConnect {
      TestConnect(name: "Connect", managedObjectModel: model, storeLocation: directory.url)
    }
    try makeConnect(ConnectModels.empty).attachPersistentStore(for: StoreConfiguration(type: .sqlite))
    let configuration = StoreConfiguration(type: .sqlite, options: [StoreOption.migrateAutomatically: false])
    let connect = makeConnect(ConnectModels.main)
    #expect { try connect.attachPersistentStore(for: configuration) } throws: { ErrorCode.incompatibleModel ~= $0 }
    #expect { try connect.attachPersistentStores(for: [configuration]) } throws: {
      ErrorCode.incompatibleModel ~= $0
    }
  }

  // MARK: Contexts

  @Test func `the view finds what a plain context on the coordinator saved`() throws {
    let stack = try ConnectStack.started()
    let context = ManagedObjectContext(concurrencyType: .privateQueue)
    context.persistentStoreCoordinator = stack.connect.persistentStoreCoordinator
    let id = try context.performAndWait {
      let object = ConnectEntity1.make(7, "seven")
      context.insert(object)
      try context.save()
      return object.objectID
    }
    let found = try #require(try stack.connect.viewContext.existingObject(with: id) as? ConnectEntity1)
    #expect(found.id == 7 && found.string == "seven" && found.binary == Data("7".utf8))
  }

  @Test func `the view follows inserts, changes and deletes of a background context`() throws {
    let stack = try ConnectStack.started()
    let context = stack.connect.newBackgroundContext()
    let view = stack.connect.viewContext
    let request = FetchRequest(ConnectEntity1.self)
      .filter(.comparison(.path(PropertyPath("id")), .equal, .value(.int(1))))
    try context.performAndWait {
      let object = ConnectEntity1.make(1, "first")
      context.insert(object)
      try context.save()
    }
    let shown = try #require(try view.fetch(request).first)
    #expect(shown.string == "first")
    try context.performAndWait {
      try #require(try context.fetch(request).first).string = "second"
      try context.save()
    }
    #expect(try view.fetch(request).first?.string == "second")
    try context.performAndWait {
      context.delete(try #require(try context.fetch(request).first))
      try context.save()
    }
    #expect(try view.count(for: request) == 0)
  }
}
