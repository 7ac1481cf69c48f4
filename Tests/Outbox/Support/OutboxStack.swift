import CoherenceCore
import CoherenceOutbox
import CoherenceStrategies
import Foundation
import Synchronization
import TestSupport

/// A container with one store, and an outbox that forwards lists, items, tags, and the entities with the setting.
struct OutboxStack {
  let directory: TemporaryDirectory
  let container: any PersistentContainer
  let store: any PersistentStore
  let outbox: Outbox
  let clock = TestClock()
  private let configuration: StoreConfiguration

  init(
    on backend: Backend, strategy: StrategyKind = .mixed, model: ManagedObjectModel = OutboxModels.main,
    entities: [String] = ["TestList", "TestItem", "TestTag"]
  ) throws {
    try self.init(
      directory: TemporaryDirectory(), backend.newConfiguration(), strategy,
      model, entities)
  }

  private init(
    directory: TemporaryDirectory, _ configuration: StoreConfiguration, _ strategy: StrategyKind,
    _ model: ManagedObjectModel, _ entities: [String]
  ) throws {
    self.directory = directory
    self.configuration = configuration
    container = strategy.makeContainer(model, in: directory)
    store = try container.attachPersistentStore(for: configuration)
    let clock = clock
    outbox = try Outbox(container, entities: entities, options: OutboxOptions(now: { clock.now }))
  }

  /// A second stack on the same store, in the place of another program.
  func another(model: ManagedObjectModel = OutboxModels.main) throws -> OutboxStack {
    try OutboxStack(
      directory: directory, configuration, .directIndependent, model, ["TestList", "TestItem", "TestTag"])
  }

  /// A second stack with the same store, opened for reading only.
  func readOnly() throws -> OutboxStack {
    var configuration = configuration
    configuration.options[StoreOption.readOnly] = .bool(true)
    return try OutboxStack(
      directory: directory, configuration, .directIndependent, OutboxModels.main, ["TestList", "TestItem", "TestTag"])
  }

  /// The stack of the next version of the program. The function closes the store here, and opens it with another model.
  ///
  /// - Parameter name: The name of the configuration of the model whose entities the store holds; `nil` for all.
  func next(
    model: ManagedObjectModel, entities: [String] = ["TestList", "TestTag"], holding name: String? = nil
  ) throws -> OutboxStack {
    try container.detach(persistentStore: store)
    var configuration = configuration
    configuration.name = name
    configuration.options[StoreOption.allowsDataLoss] = .bool(true)
    return try OutboxStack(directory: directory, configuration, .directIndependent, model, entities)
  }

  /// Runs a block in a new background context and saves.
  @discardableResult
  func save<T>(_ body: (ManagedObjectContext) throws -> T) throws -> T {
    try container.newBackgroundContext().saving(body)
  }

  /// Saves a list and returns its identifier.
  @discardableResult
  func saveList(_ name: String) throws -> ManagedObjectID {
    let context = container.newBackgroundContext()
    return try context.performAndWait {
      let list = try TestList(context: context)
      list.name = name
      try context.save()
      return list.objectID
    }
  }

  /// Saves an item and returns its identifier.
  @discardableResult
  func saveItem(_ title: String, in list: ManagedObjectID? = nil) throws -> ManagedObjectID {
    let context = container.newBackgroundContext()
    return try context.performAndWait {
      let item = try TestItem(context: context)
      item.title = title
      item.list = try list.map { try context.existingObject(with: $0) } as? TestList
      try context.save()
      return item.objectID
    }
  }

  /// Changes an item in a background context and saves.
  func change(_ id: ManagedObjectID, _ change: (TestItem) throws -> Void) throws {
    try save { context in
      guard let item = try context.existingObject(with: id) as? TestItem else {
        throw CoherenceError(.wrongType, "The object is no item.")
      }
      try change(item)
    }
  }

  /// Deletes a record in a background context and saves.
  func delete(_ id: ManagedObjectID) throws {
    try save { $0.delete(try $0.existingObject(with: id)) }
  }
}

/// A clock with a settable time that does not advance by itself.
final class TestClock: Sendable {
  private let time = Mutex(Date(timeIntervalSince1970: 1_700_000_000))

  var now: Date {
    get { time.withLock { $0 } }
    set { time.withLock { $0 = newValue } }
  }
}
