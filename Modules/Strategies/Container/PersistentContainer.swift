public import CoherenceCore
public import Foundation

/// A complete stack: a model, a coordinator with its stores, a view context and background contexts.
///
/// May be used from any thread. ``GenericPersistentContainer`` is the framework's implementation.
public protocol PersistentContainer: AnyObject, Sendable {
  /// The default directory of stores. The directory is created when a store needs it.
  static func defaultStoreLocation() -> URL

  /// The container's name, with which the names of its stores' files begin unless a configuration names the file.
  var name: String { get }
  /// The directory of stores attached without a directory.
  var storeLocation: URL { get }
  /// The model of all stores.
  var managedObjectModel: ManagedObjectModel { get }
  /// The coordinator of the stores.
  var persistentStoreCoordinator: PersistentStoreCoordinator { get }
  /// Receives the errors of work without a waiting caller.
  var errorHandler: AsyncErrorHandlerBlock { get }

  /// Opens a store, and creates the store and its directory if they do not exist. Blocks while the store is opened.
  ///
  /// - Parameters:
  ///   - url: The *directory* of the store. The file is named by the configuration, or else by the container's name,
  ///     the model configuration and the store type. Stores without files ignore the directory, and so does a
  ///     configuration with a location.
  ///   - configuration: The type, model configuration and options of the store.
  /// - Returns: The attached store.
  /// - Throws: The errors of the store's backend, for example ``ErrorCode/incompatibleModel``;
  ///   ``ErrorCode/unknownStoreType``; ``ErrorCode/storeInaccessible`` when the directory cannot be created.
  @discardableResult
  func attachPersistentStore(at url: URL, for configuration: StoreConfiguration) throws -> any PersistentStore

  /// Opens several stores. When one store cannot be opened, the stores that the call has opened are detached again.
  ///
  /// - Parameters:
  ///   - url: The directory of the stores whose configuration has no location.
  ///   - configurations: The stores to open. An empty list means the default store.
  /// - Returns: The attached stores, in the order of the configurations.
  /// - Throws: The errors of ``attachPersistentStore(at:for:)``.
  @discardableResult
  func attachPersistentStores(
    at url: URL, for configurations: [StoreConfiguration]
  ) throws -> [any PersistentStore]

  /// Closes a store. The content of the store is kept.
  ///
  /// - Throws: ``ErrorCode/storeDetached`` when the store is not attached here.
  func detach(persistentStore: any PersistentStore) throws

  /// Closes several stores. When one of them is not attached here, none is closed. A store that is passed twice counts
  /// once.
  ///
  /// - Throws: ``ErrorCode/storeDetached``, also when another caller removes one of the stores at the same time; the
  ///   other stores are closed nevertheless.
  func detach(persistentStores: [any PersistentStore]) throws

  /// The context of the user interface, confined to the main actor. Code on the main actor takes it from
  /// ``mainContext``, which the compiler refuses elsewhere; other code uses it in `perform`.
  var viewContext: ManagedObjectContext { get }

  /// Makes a context for work off the main actor.
  func newBackgroundContext() -> BackgroundContext
}

// MARK: - On the main actor

extension PersistentContainer {
  /// The view context for code on the main actor, which uses the context and its objects without `perform`. The
  /// compiler refuses the property in code outside of the main actor.
  @MainActor public var mainContext: ManagedObjectContext { viewContext }
}

// MARK: - Without arguments

extension PersistentContainer {
  /// Opens a store in the container's own location; see ``attachPersistentStore(at:for:)``.
  @discardableResult
  public func attachPersistentStore(
    for configuration: StoreConfiguration = StoreConfiguration()
  ) throws -> any PersistentStore {
    try attachPersistentStore(at: storeLocation, for: configuration)
  }

  /// Opens the default store in a directory; see ``attachPersistentStore(at:for:)``.
  @discardableResult
  public func attachPersistentStore(at url: URL) throws -> any PersistentStore {
    try attachPersistentStore(at: url, for: StoreConfiguration())
  }

  /// Opens several stores in the container's own location; see ``attachPersistentStores(at:for:)``.
  @discardableResult
  public func attachPersistentStores(
    for configurations: [StoreConfiguration] = [StoreConfiguration()]
  ) throws -> [any PersistentStore] {
    try attachPersistentStores(at: storeLocation, for: configurations)
  }

  /// Opens the default store in a directory; see ``attachPersistentStores(at:for:)``.
  @discardableResult
  public func attachPersistentStores(at url: URL) throws -> [any PersistentStore] {
    try attachPersistentStores(at: url, for: [StoreConfiguration()])
  }
}
