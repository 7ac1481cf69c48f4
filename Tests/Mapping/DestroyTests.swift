import CoherenceActions
import CoherenceCore
import CoherenceInMemory
import CoherenceMapping
import CoherenceStrategies
import Foundation
import Synchronization
import Testing
import TestSupport

/// Destroying stores while other containers use them, and from inside an error handler.
@Suite("Destroying stores in use")
struct DestroyTests {
  private func filled(_ backend: Backend) throws -> MappingStack {
    let stack = try MappingStack(backend)
    try stack.manager.save(entity: GroceryRecord.self, models: GroceryProduct.four, shouldOverwrite: true)
    return stack
  }

  private func refusal(of manager: PersistenceManager) -> ErrorCode? {
    #expect(throws: CoherenceError.self) { try manager.destroy() }?.code
  }

  @Test(arguments: Backend.available)
  func `destroying a store that another manager has open throws, on every kind of store`(backend: Backend) throws {
    let stack = try filled(backend)
    let worker = stack.manager.workerContext
    let kept = try worker.performAndWait {
      try stack.manager.fetchRecords(context: worker) as [GroceryRecord]
    }
    let stranger = try stack.makeStranger()
    let third = PersistenceManager(
      name: "Groceries", model: stack.manager.container.managedObjectModel,
      storeConfigurations: [stack.configuration], storeLocation: stack.directory.url)
    for manager in [stack.manager, stranger, third] { #expect(refusal(of: manager) == .storeBusy) }
    // The failed destruction left the fetched objects usable.
    try worker.performAndWait {
      for record in kept { record.points += 1 }
      try worker.save()
    }
    #expect(try stack.products() == stranger.fetchModels(entity: GroceryRecord.self).sorted { $0.id < $1.id })
    #expect(!third.isLoaded)
    let container = stranger.container
    try container.detach(persistentStores: container.persistentStoreCoordinator.persistentStores)
    try stack.manager.destroy()
    #expect(try stack.products() == [])
    try stranger.load()
    #expect(try stranger.count(entity: GroceryRecord.self) == 0)
  }

  @Test(arguments: Backend.available)
  func `several stores are destroyed together, or none of them is`(backend: Backend) throws {
    let directory = TemporaryDirectory()
    let configurations = (0..<2).map { _ in backend.newConfiguration() }
    let people = Person.mapping
    let model = try ManagedObjectModel { people }
    func manager(_ configurations: [StoreConfiguration]) throws -> PersistenceManager {
      let manager = PersistenceManager(
        name: "People", model: model, storeConfigurations: configurations, storeLocation: directory.url)
      try manager.load()
      return manager
    }
    let both = try manager(configurations)
    // New records go into the first store, and the second store is in use.
    try both.save(people, models: [Person(id: 1, name: "Ada", age: 36)], shouldOverwrite: true)
    let other = try manager([configurations[1]])
    #expect(refusal(of: both) == .storeBusy)
    #expect(try both.count(people) == 1 && other.count(people) == 0)
  }

  @Test func `a copy of a store can be destroyed while the original is open`() throws {
    let stack = try filled(.sqlite)
    let container = stack.manager.container
    let place = try #require(container.persistentStoreCoordinator.persistentStores.first?.url)
    try container.detach(persistentStores: container.persistentStoreCoordinator.persistentStores)
    try FileManager.default.copyItem(at: place, to: stack.directory.file("copy.sqlite"))
    try stack.manager.load()
    let copy = PersistenceManager(
      name: "Groceries", model: container.managedObjectModel,
      storeConfigurations: [Backend.sqlite.configuration(named: "copy")],
      storeLocation: stack.directory.url)
    try copy.load()
    try stack.manager.destroy()
    #expect(try stack.products() == [] && copy.count(entity: GroceryRecord.self) == 4)
  }

  @Test(arguments: Backend.available)
  func `attaching a store throws while the store is being destroyed`(backend: Backend) throws {
    let stack = try filled(backend)
    let coordinator = stack.manager.container.persistentStoreCoordinator
    try coordinator.withExclusiveUse(of: coordinator.persistentStores.map { StoreIdentity($0) }) {
      let error = #expect(throws: CoherenceError.self) { try stack.makeStranger() }
      #expect(error?.code == .storeBusy && error?.isRetryable == true)
    }
    #expect(try stack.makeStranger().count(entity: GroceryRecord.self) == 4)
  }

  @Test(arguments: Backend.available)
  func `a Connect manages the entities of destroyed stores, before and after its next start`(backend: Backend)
    async throws
  {
    let directory = TemporaryDirectory()
    let people = Person.mapping
    let connect = GenericConnect<ContextStrategy.Mixed>(
      name: "People", managedObjectModel: try ManagedObjectModel { people }, storeLocation: directory.url)
    let manager = PersistenceManager(container: connect, storeConfigurations: [backend.newConfiguration()])
    try await manager.load()
    try await connect.start()
    try await manager.save(people, models: [Person(id: 1, name: "Ada", age: 36)], shouldOverwrite: true)
    try await manager.destroy()
    let entity = try connect.managedObjectModel.entity(named: people.entityName)
    #expect(connect.isManaged(entity))
    #expect(try await manager.count(people) == 0)
    try await connect.stop()
    try await connect.start()
    #expect(connect.isManaged(entity))
    #expect(try await manager.count(people) == 0)
    try await connect.stop()
  }

  @Test func `a load after the stop of a Connect attaches a destroyed store once`() async throws {
    let people = Person.mapping
    let connect = GenericConnect<ContextStrategy.Mixed>(
      name: "People", managedObjectModel: try ManagedObjectModel { people })
    let configuration = StoreConfiguration(type: .inMemory, overwriteIncompatibleStore: true)
    let manager = PersistenceManager(container: connect, storeConfigurations: [configuration])
    try await manager.load()
    try await connect.start()
    try await manager.destroy()
    try await connect.stop()
    try await manager.load()
    try await connect.start()
    let stores = connect.persistentStoreCoordinator.persistentStores
    #expect(stores.count == 1)
    try await connect.stop()
  }

  @Test func `a destruction whose new store cannot be opened loads no store, and a later load opens all`() throws {
    var configurations = (0..<2).map { _ in
      Backend.inMemory.newConfiguration()
    }
    let factory = RefusingFactory(try #require(configurations[1].type.factory))
    configurations[1].type = StoreType("Refusing", factory: factory)
    let directory = TemporaryDirectory()
    let manager = PersistenceManager(
      name: "Groceries", model: try MappingStack.groceries(), storeConfigurations: configurations,
      storeLocation: directory.url)
    try manager.load()
    try manager.save(entity: GroceryRecord.self, models: GroceryProduct.four, shouldOverwrite: true)
    factory.refuses.withLock { $0 = true }
    #expect(refusal(of: manager) == .storeFull)
    #expect(!manager.isLoaded)
    factory.refuses.withLock { $0 = false }
    try manager.load()
    #expect(manager.container.persistentStoreCoordinator.persistentStores.count == 2)
    #expect(try manager.count(entity: GroceryRecord.self) == 0)
  }

  @Test func `an error handler can destroy the stores without a deadlock`() async throws {
    let container = OwnContainer(try MappingStack.groceries())
    let manager = PersistenceManager(
      container: container, storeConfigurations: [Backend.inMemory.configuration(named: UUID().uuidString)])
    try await manager.load()
    try await manager.save(entity: GroceryRecord.self, models: GroceryProduct.four, shouldOverwrite: true)
    container.onError.withLock { $0 = { [weak manager] in try manager?.destroy() } }
    let isLoaded = await withCheckedContinuation { continuation in
      manager.load { continuation.resume(returning: $0) }
    }
    #expect(!isLoaded && manager.isLoaded)
    #expect(try await manager.count(entity: GroceryRecord.self) == 0)
  }
}

/// Opens the stores of another factory, and refuses to open them while a test says so.
private final class RefusingFactory: StoreFactory {
  private let base: any StoreFactory
  let refuses = Mutex(false)

  init(_ base: any StoreFactory) { self.base = base }

  var usesFiles: Bool { base.usesFiles }

  func open(_ environment: StoreEnvironment) throws -> any PersistentStore {
    if refuses.withLock({ $0 }) { throw CoherenceError(.storeFull, "The disk is full.") }
    return try base.open(environment)
  }

  func metadata(_ environment: StoreEnvironment) throws -> StoreMetadata? { try base.metadata(environment) }
  func setAside(_ environment: StoreEnvironment) throws -> String { try base.setAside(environment) }
}

/// A container of an application that calls its error handler on the thread of the error.
private final class OwnContainer: PersistentContainer {
  private let base: GenericPersistentContainer<ContextStrategy.Direct>
  let onError = Mutex<(@Sendable () throws -> Void)?>(nil)
  var errorHandler: AsyncErrorHandlerBlock {
    { [weak self] _ in
      do { try self?.onError.withLock { $0 }?() } catch { Issue.record(error) }
    }
  }

  init(_ model: ManagedObjectModel) { base = GenericPersistentContainer(name: "Own", managedObjectModel: model) }

  static func defaultStoreLocation() -> URL { FileManager.default.temporaryDirectory }
  var name: String { base.name }
  var storeLocation: URL { base.storeLocation }
  var managedObjectModel: ManagedObjectModel { base.managedObjectModel }
  var persistentStoreCoordinator: PersistentStoreCoordinator { base.persistentStoreCoordinator }
  var viewContext: ManagedObjectContext { base.viewContext }

  func newBackgroundContext() -> BackgroundContext { base.newBackgroundContext() }

  func attachPersistentStore(at url: URL, for configuration: StoreConfiguration) throws -> any PersistentStore {
    try base.attachPersistentStore(at: url, for: configuration)
  }

  func attachPersistentStores(
    at url: URL, for configurations: [StoreConfiguration]
  ) throws -> [any PersistentStore] {
    try base.attachPersistentStores(at: url, for: configurations)
  }

  func detach(persistentStore: any PersistentStore) throws { try base.detach(persistentStore: persistentStore) }
  func detach(persistentStores: [any PersistentStore]) throws { try base.detach(persistentStores: persistentStores) }
}
