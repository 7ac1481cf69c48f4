public import CoherenceCore
public import Foundation

/// A stack in one piece: a model, a coordinator with its stores, a view context and background contexts.
///
/// May be used from any thread. ``GenericPersistentContainer`` is the framework's own.
public protocol PersistentContainer: AnyObject, Sendable {
  /// The directory that containers keep their stores in unless told otherwise. Not created before it is needed.
  static func defaultStoreLocation() -> URL

  /// The container's name, with which the names of its stores' files begin.
  var name: String { get }
  /// The directory that this container keeps its stores in unless told otherwise.
  var storeLocation: URL { get }
  var managedObjectModel: ManagedObjectModel { get }
  var persistentStoreCoordinator: PersistentStoreCoordinator { get }
  /// Is told of the errors that nobody waits for.
  var errorHandler: AsyncErrorHandlerBlock { get }

  /// Opens a store, creating it and its directory if there is none.
  ///
  /// - Parameters:
  ///   - url: The *directory* of the store; the name of the file is the configuration's, or made of the container's
  ///     name, the model configuration and the store type. Stores that keep no files ignore it.
  /// - Throws: What the store's backend throws, for example ``ErrorCode/incompatibleModel``;
  ///   ``ErrorCode/unknownStoreType``; ``ErrorCode/storeInaccessible`` when the directory cannot be made.
  @discardableResult
  func attachPersistentStore(at url: URL, for configuration: StoreConfiguration) throws -> any PersistentStore

  /// Opens several stores, or none: when one cannot be opened, those that this call opened are detached again.
  ///
  /// - Parameter configurations: No configurations mean one, the default one.
  @discardableResult
  func attachPersistentStores(
    at url: URL, for configurations: [StoreConfiguration]
  ) throws -> [any PersistentStore]

  /// Closes a store. Its content stays.
  ///
  /// - Throws: ``ErrorCode/storeDetached`` when the store is not attached here.
  func detach(persistentStore: any PersistentStore) throws

  /// Closes several stores. When one of them is not attached here, none is closed.
  func detach(persistentStores: [any PersistentStore]) throws

  /// The context of the user interface, confined to the main actor.
  var viewContext: ManagedObjectContext { get }

  /// Makes a context for work off the main actor.
  func newBackgroundContext() -> BackgroundContext
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
