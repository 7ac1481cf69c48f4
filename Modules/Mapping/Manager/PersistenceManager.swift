public import CoherenceCore
public import CoherenceStrategies
import Dispatch
public import Foundation
import Synchronization

/// Keeps models, which are structures or classes of your own, as records of stores.
///
/// ```swift
/// let manager = PersistenceManager(modelName: "MyModel")
/// try manager.load()
/// try manager.save(entity: PersonRecord.self, models: people, shouldOverwrite: true)
/// let everybody = try manager.fetchModels(entity: PersonRecord.self)
/// ```
///
/// A record is a class of managed objects that conforms to ``DataRecord`` and what follows from it, or there is no class
/// at all, and a ``Mapping`` says how a structure is kept.
///
/// Every method may be called on any thread. Those that write do so in a context of their own unless they are given one,
/// in one transaction: all of it, or nothing. Each has a form that waits and one that is awaited; in a task it is the
/// latter that is meant.
///
/// The methods that are open do the work of several others, so that a subclass decides for all of them.
open class PersistenceManager: @unchecked Sendable {
  // Sendable: what is mutable is behind a lock; the compiler cannot check a class that is open.

  /// The name of the container, and of the model unless that was given.
  public final let modelName: String
  /// How a save deals with records that somebody else changed. What sets marks of synchronisation does not ask it.
  public final let mergePolicy: MergePolicy
  /// What `load()` attaches.
  public final let storeConfigurations: [StoreConfiguration]
  final let threadContexts = ThreadContexts()
  /// Loading and destroying take turns on it.
  final let doorway = DispatchQueue(label: "coherence.mapping.doorway")
  private let state: Mutex<State>

  private struct State {
    var container: any PersistentContainer
    /// Why the container has no entities.
    var fault: (any Error)?
  }

  /// Makes a manager for the model that is registered by that name. No store is opened yet.
  ///
  /// A model that is not registered by now is looked for again by `load()`, which reports when there is none.
  ///
  /// - Parameters:
  ///   - storeConfigurations: The stores to load; no configurations mean the default one.
  ///   - storeLocation: The directory for stores that have no place of their own; the container's default without.
  public convenience init(
    modelName: String, mergePolicy: MergePolicy = .error,
    storeConfigurations: [StoreConfiguration] = [StoreConfiguration()], storeLocation: URL? = nil
  ) {
    let made = Self.container(for: modelName, at: storeLocation)
    self.init(container: made.container, mergePolicy: mergePolicy, storeConfigurations: storeConfigurations)
    state.withLock { $0.fault = made.fault }
  }

  /// Makes a manager for a model. No store is opened yet.
  public convenience init(
    name: String, model: ManagedObjectModel, mergePolicy: MergePolicy = .error,
    storeConfigurations: [StoreConfiguration] = [StoreConfiguration()], storeLocation: URL? = nil
  ) {
    self.init(
      container: Container(name: name, managedObjectModel: model, storeLocation: storeLocation),
      mergePolicy: mergePolicy, storeConfigurations: storeConfigurations)
  }

  /// Makes a manager of a container with whatever strategy. Its stores may be attached already; then there is nothing to
  /// load.
  public init(
    container: any PersistentContainer, mergePolicy: MergePolicy = .error,
    storeConfigurations: [StoreConfiguration] = [StoreConfiguration()]
  ) {
    modelName = container.name
    self.mergePolicy = mergePolicy
    self.storeConfigurations = storeConfigurations.isEmpty ? [StoreConfiguration()] : storeConfigurations
    state = Mutex(State(container: container))
    adopt(container)
  }

  // MARK: The container

  /// View and workers on the stores directly, the view following what workers save.
  private typealias Container = GenericPersistentContainer<ContextStrategy.Direct>

  /// The container that the manager works with.
  public final var container: any PersistentContainer { state.withLock { $0.container } }

  private func adopt(_ container: any PersistentContainer) {
    container.viewContext.mergePolicy = mergePolicy
    threadContexts.follow(container.viewContext)
  }

  /// Looks for a model that was not there before.
  ///
  /// - Throws: ``ErrorCode/modelNotFound``.
  final func findModel() throws {
    guard state.withLock({ $0.fault }) != nil else { return }
    let made = Self.container(for: modelName, at: container.storeLocation)
    if let fault = made.fault { throw fault }
    state.withLock { $0 = State(container: made.container) }
    adopt(made.container)
  }

  /// A container for a registered model; when there is none, one without entities and the reason.
  private static func container(
    for modelName: String, at location: URL?
  ) -> (container: any PersistentContainer, fault: (any Error)?) {
    do {
      return (try Container(name: modelName, storeLocation: location), nil)
    } catch {
      return (Container(name: modelName, managedObjectModel: noModel, storeLocation: location), error)
    }
  }

  /// A model of nothing, which has no faults.
  private static let noModel = try! ManagedObjectModel(entities: [])

  // MARK: Deleting

  /// Deletes all records of an entity in the stores, without making objects of them: the quickest way. Delete rules are
  /// not applied; references to the records are cleared. Every context that follows the one used hears of it.
  ///
  /// - Throws: ``ErrorCode/contextWithoutStore`` before `load`; ``ErrorCode/unknownEntity``; errors of the store.
  open func batchDeleteAll<Record: DataRecord>(
    entity: Record.Type, context: ManagedObjectContext? = nil
  ) throws {
    try batchDeleteAll(entityName: Record.entityName, context: context)
  }

  /// The same by the entity's name.
  open func batchDeleteAll(entityName: String, context: ManagedObjectContext? = nil) throws {
    _ = try working(in: context) { try $0.execute(BatchDeleteRequest(entityName: entityName)) }
  }

  /// Deletes all records of an entity by the model's delete rules, in one transaction.
  ///
  /// - Parameter saveEvery: How many records to delete in one transaction, when one for all would need too much memory.
  ///   What an earlier transaction deleted stays deleted when a later one fails.
  /// - Returns: How many records were deleted, without those that delete rules added.
  /// - Throws: As ``delete(entity:predicate:saveEvery:context:)``.
  @discardableResult
  open func manualDeleteAll<Record: DataRecord>(
    entity: Record.Type, saveEvery: Int? = nil, context: ManagedObjectContext? = nil
  ) throws -> Int {
    try manualDeleteAll(entityName: Record.entityName, saveEvery: saveEvery, context: context)
  }

  /// The same by the entity's name.
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
  /// - Returns: How many records were deleted, without those that delete rules added.
  /// - Throws: ``ErrorCode/contextWithoutStore`` before `load`; ``ErrorCode/wrongContext``; ``ErrorCode/unknownEntity``;
  ///   ``ErrorCode/invalidPredicate``; ``ErrorCode/deleteDenied``; errors of the store. Nothing is deleted then.
  @discardableResult
  open func delete<Record: DataRecord>(
    entity: Record.Type, predicate: FetchPredicate?, saveEvery: Int? = nil, context: ManagedObjectContext? = nil
  ) throws -> Int {
    try delete(entityName: Record.entityName, predicate: predicate, saveEvery: saveEvery, context: context)
  }

  /// The same by the entity's name.
  @discardableResult
  open func delete(
    entityName: String, predicate: FetchPredicate?, saveEvery: Int? = nil, context: ManagedObjectContext? = nil
  ) throws -> Int {
    guard let saveEvery else {
      return try writing(in: context) { try $0.delete(entityName: entityName, predicate: predicate) }
    }
    return try inPieces(of: saveEvery, in: context) {
      try $0.delete(entityName: entityName, predicate: predicate, limit: $1)
    }
  }

  // MARK: Clearing

  /// The names of the entities that `clear()` empties: all that have records. A subclass leaves out what is to stay.
  open func entityNamesForClear() -> [String] {
    container.managedObjectModel.entities.filter { !$0.isAbstract }.map(\.name)
  }

  /// Deletes all records of the entities of ``entityNamesForClear()`` in one transaction, by the model's delete rules. The
  /// order of the names does not matter.
  ///
  /// - Throws: As ``delete(entity:predicate:saveEvery:context:)``. Nothing is deleted then.
  open func clear() throws {
    try writing { try $0.deleteAll(of: entityNamesForClear()) }
  }

  // MARK: Destroying

  /// Removes the stores with all of their content and loads empty ones in their places. What is not loaded yet is removed
  /// too. Contexts stay in use; objects of the former records throw ``ErrorCode/storeDetached``.
  ///
  /// A store that another container of this process has attached is not destroyed under it, whatever its kind. What other
  /// processes have open cannot be known; see <doc:CoherenceMapping#Destroying>.
  ///
  /// - Throws: ``ErrorCode/modelNotFound``; ``ErrorCode/storeBusy`` when one of the stores is attached elsewhere in this
  ///   process, and nothing is done then; ``ErrorCode/storeInaccessible`` and the like when a store cannot be removed, or
  ///   a fresh one not be opened. Stores that could not be removed are loaded again.
  open func destroy() throws {
    try doorway.sync { try destroyStores() }
  }
}
