public import CoherenceCore
public import CoherenceStrategies
import Dispatch
public import Foundation
import Synchronization

/// Stores models, which are structures or classes of the program, as records.
///
/// ```swift
/// let manager = PersistenceManager(modelName: "MyModel")
/// try manager.load()
/// try manager.save(entity: PersonRecord.self, models: people, shouldOverwrite: false)
/// let everybody = try manager.fetchModels(entity: PersonRecord.self)
/// ```
///
/// A record is a managed object whose class conforms to ``DataRecord`` and its refinements, or a ``Mapping`` describes
/// how a structure is stored, without a class.
///
/// Every method may be called on any thread. A writing method works in a new context unless it gets one, in one
/// transaction: all of its changes are saved, or none. Each method has a synchronous form, which blocks its thread, and
/// an asynchronous form for tasks.
///
/// Several methods of the manager call the open methods, so a subclass that overrides one changes all of them.
open class PersistenceManager: @unchecked Sendable {
  // Sendable: a lock protects the mutable properties; the compiler cannot check an open class.

  /// The name of the container, and of the registered model.
  public final let modelName: String
  /// The resolution of conflicts with other writers. Methods that set synchronisation marks do not use it.
  public final let mergePolicy: MergePolicy
  /// The stores that `load()` attaches.
  public final let storeConfigurations: [StoreConfiguration]
  final let threadContexts = ThreadContexts()
  /// The serial queue of loading and destroying.
  final let lifecycleQueue = DispatchQueue(label: "coherence.mapping.lifecycle")
  private let state: Mutex<State>

  private struct State {
    var container: any PersistentContainer
    /// The error of the look-up of the model, for a container without entities; `nil` once the model is found.
    var modelError: (any Error)?
  }

  /// Makes a manager for the registered model with a name, without opening a store.
  ///
  /// If the model is not registered yet, `load()` looks it up again, and throws if the model is still missing.
  ///
  /// - Parameters:
  ///   - modelName: The name under which the model is registered.
  ///   - mergePolicy: The resolution of conflicts with other writers.
  ///   - storeConfigurations: The stores to load; an empty list means the default store.
  ///   - storeLocation: The directory for stores without their own location; by default that of the container.
  public convenience init(
    modelName: String, mergePolicy: MergePolicy = .error,
    storeConfigurations: [StoreConfiguration] = [StoreConfiguration()], storeLocation: URL? = nil
  ) {
    let made = Self.container(for: modelName, at: storeLocation)
    self.init(container: made.container, mergePolicy: mergePolicy, storeConfigurations: storeConfigurations)
    state.withLock { $0.modelError = made.error }
  }

  /// Makes a manager for a model, without opening a store.
  public convenience init(
    name: String, model: ManagedObjectModel, mergePolicy: MergePolicy = .error,
    storeConfigurations: [StoreConfiguration] = [StoreConfiguration()], storeLocation: URL? = nil
  ) {
    self.init(
      container: Container(name: name, managedObjectModel: model, storeLocation: storeLocation),
      mergePolicy: mergePolicy, storeConfigurations: storeConfigurations)
  }

  /// Makes a manager for a container, which may have any strategy. A container with attached stores needs no loading.
  public init(
    container: any PersistentContainer, mergePolicy: MergePolicy = .error,
    storeConfigurations: [StoreConfiguration] = [StoreConfiguration()]
  ) {
    modelName = container.name
    self.mergePolicy = mergePolicy
    self.storeConfigurations = storeConfigurations.isEmpty ? [StoreConfiguration()] : storeConfigurations
    state = Mutex(State(container: container))
    configure(container)
  }

  // MARK: The container

  /// The container with the strategy in which the view and the workers save into the stores directly.
  private typealias Container = GenericPersistentContainer<ContextStrategy.Direct>

  /// The container of the manager.
  public final var container: any PersistentContainer { state.withLock { $0.container } }

  /// Gives the view context the merge policy, and lets the contexts of threads follow it.
  private func configure(_ container: any PersistentContainer) {
    container.viewContext.mergePolicy = mergePolicy
    threadContexts.follow(container.viewContext)
  }

  /// Looks up the model by name if it was registered after the initialization of the manager.
  ///
  /// - Throws: ``ErrorCode/modelNotFound``.
  final func findModel() throws {
    guard state.withLock({ $0.modelError }) != nil else { return }
    let made = Self.container(for: modelName, at: container.storeLocation)
    if let error = made.error { throw error }
    state.withLock { $0 = State(container: made.container) }
    configure(made.container)
  }

  /// Returns a container for a registered model; without such a model, a container without entities, and the error.
  private static func container(
    for modelName: String, at location: URL?
  ) -> (container: any PersistentContainer, error: (any Error)?) {
    do {
      return (try Container(name: modelName, storeLocation: location), nil)
    } catch {
      return (Container(name: modelName, managedObjectModel: noModel, storeLocation: location), error)
    }
  }

  /// A model without entities, which is always valid.
  private static let noModel = try! ManagedObjectModel(entities: [])

  // MARK: Deleting

  /// Deletes all records of an entity in the stores, without making objects, which is the fastest way. Delete rules are
  /// not applied, and references to the records are cleared. Contexts that follow the used context are notified.
  ///
  /// - Throws: ``ErrorCode/contextWithoutStore`` before `load`; ``ErrorCode/unknownEntity``; errors of the store.
  open func batchDeleteAll<Record: DataRecord>(
    entity: Record.Type, context: ManagedObjectContext? = nil
  ) throws {
    try batchDeleteAll(entityName: Record.entityName, context: context)
  }

  /// Deletes all records of an entity in the stores; see ``batchDeleteAll(entity:context:)``.
  open func batchDeleteAll(entityName: String, context: ManagedObjectContext? = nil) throws {
    _ = try working(in: context) { try $0.execute(BatchDeleteRequest(entityName: entityName)) }
  }

  /// Deletes all records of an entity by the model's delete rules, in one transaction.
  ///
  /// - Parameter saveEvery: The number of records to delete in each transaction, if a single transaction would need too
  ///   much memory. Earlier transactions stay committed when a later one fails.
  /// - Returns: The number of deleted records, without the records that delete rules added.
  /// - Throws: As ``delete(entity:predicate:saveEvery:context:)``.
  @discardableResult
  open func manualDeleteAll<Record: DataRecord>(
    entity: Record.Type, saveEvery: Int? = nil, context: ManagedObjectContext? = nil
  ) throws -> Int {
    try manualDeleteAll(entityName: Record.entityName, saveEvery: saveEvery, context: context)
  }

  /// Deletes all records of an entity; see ``manualDeleteAll(entity:saveEvery:context:)``.
  @discardableResult
  open func manualDeleteAll(
    entityName: String, saveEvery: Int? = nil, context: ManagedObjectContext? = nil
  ) throws -> Int {
    try delete(entityName: entityName, predicate: nil, saveEvery: saveEvery, context: context)
  }

  /// Deletes the records that satisfy a predicate by the model's delete rules, in one transaction.
  ///
  /// - Parameters:
  ///   - predicate: The condition; `nil` for all records.
  ///   - saveEvery: As ``manualDeleteAll(entity:saveEvery:context:)``.
  /// - Returns: The number of deleted records, without the records that delete rules added.
  /// - Throws: ``ErrorCode/contextWithoutStore`` before `load`; ``ErrorCode/wrongContext``;
  ///   ``ErrorCode/unknownEntity``; ``ErrorCode/invalidPredicate``; ``ErrorCode/deleteDenied``; errors of the store.
  ///   Nothing is deleted then, except by earlier transactions with `saveEvery`.
  @discardableResult
  open func delete<Record: DataRecord>(
    entity: Record.Type, predicate: FetchPredicate?, saveEvery: Int? = nil, context: ManagedObjectContext? = nil
  ) throws -> Int {
    try delete(entityName: Record.entityName, predicate: predicate, saveEvery: saveEvery, context: context)
  }

  /// Deletes the records of an entity that satisfy a predicate; see ``delete(entity:predicate:saveEvery:context:)``.
  @discardableResult
  open func delete(
    entityName: String, predicate: FetchPredicate?, saveEvery: Int? = nil, context: ManagedObjectContext? = nil
  ) throws -> Int {
    guard let saveEvery else {
      return try writing(in: context) { try $0.delete(entityName: entityName, predicate: predicate) }
    }
    return try inBatches(of: saveEvery, in: context) {
      try $0.delete(entityName: entityName, predicate: predicate, limit: $1)
    }
  }

  // MARK: Clearing

  /// The names of the entities that `clear()` empties: all entities except abstract entities. A subclass may return
  /// fewer.
  open func entityNamesForClear() -> [String] {
    container.managedObjectModel.entities.filter { !$0.isAbstract }.map(\.name)
  }

  /// Deletes all records of the entities of ``entityNamesForClear()`` in one transaction, by the model's delete rules.
  /// The order of the names does not matter.
  ///
  /// - Throws: As ``delete(entity:predicate:saveEvery:context:)``. Nothing is deleted then.
  open func clear() throws {
    try writing { try $0.deleteAll(of: entityNamesForClear()) }
  }

  // MARK: Destroying

  /// Removes the stores with all of their content, and loads empty stores in their places. Before `load`, the existing
  /// stores are removed too. Contexts stay usable; objects of the former records throw ``ErrorCode/storeDetached``.
  ///
  /// A store whose factory is no ``StoreErasing`` is set aside, and its content stays. The factories of this package erase
  /// their stores.
  ///
  /// A store that another container of this process has attached is not destroyed. Other processes that use a store
  /// cannot be detected; see <doc:CoherenceMapping#Destroying>.
  ///
  /// - Throws: ``ErrorCode/modelNotFound``; ``ErrorCode/storeBusy`` when another container of this process has attached
  ///   one of the stores, and nothing is removed then; ``ErrorCode/storeInaccessible`` and other errors when a store
  ///   cannot be removed, or an empty store cannot be opened. After a failed removal, stores that were loaded are
  ///   loaded again. If one of the stores cannot be opened, none is loaded; call `load()` again later.
  open func destroy() throws {
    try lifecycleQueue.sync { try destroyStores() }
  }
}
