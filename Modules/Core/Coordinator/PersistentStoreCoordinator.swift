public import Foundation
public import Logging
import Synchronization

/// The attached stores of a stack, of any kinds, behind one model.
///
/// Every member may be used from any thread. Stores may be attached and removed while contexts are in use. After the
/// removal of a store, a running read of the store, and loads and saves of its objects, throw
/// ``ErrorCode/storeDetached``, and a fetch of an entity that no other store holds throws ``ErrorCode/noStore``.
/// Without any store, later requests throw ``ErrorCode/contextWithoutStore``. The release of the last reference closes
/// the attached stores.
public final class PersistentStoreCoordinator: Sendable {
  /// The model of all stores of the coordinator.
  public let managedObjectModel: ManagedObjectModel
  /// The logger that the coordinator, its stores and its contexts write to. It never receives values of records or
  /// passwords.
  public let logger: Logger
  private let registry: StoreRegistry?
  private let attachedStores = Locked<[any PersistentStore]>([])
  private let storeChanges = Atomic<Int>(0)
  /// The saves of the coordinator's contexts.
  let saves = SaveCount()
  /// The streams of changes by entity.
  let entityChangeFeed = EntityChangeFeed()
  /// The changes of saves, for live results.
  let storeEventHub = StoreEventHub()
  /// The participants of saves.
  let participants = EntityObservers()
  /// The observers of the fetches of the coordinator's contexts.
  let fetchObservers = FetchObservers()
  /// The streams of signals.
  let signalStreams = SignalStreams()
  let rowCache = RowCache()
  /// The contexts with pinned snapshots, and the streams.
  let lastingReaders = LastingReaders()
  private let observing = Mutex<(any StackObserver)?>(nil)
  /// A structure around the function: a generic type that has the function itself would wrap it once more at each
  /// access.
  private struct TimeSource {
    var now: @Sendable () -> Date = { Date() }
  }

  private let timeSource = Mutex(TimeSource())

  /// Receives the operations of the stack. Set it before the stack is used: work that began earlier is not reported.
  public var observer: (any StackObserver)? {
    get { observing.withLock { $0 } }
    set {
      // Released after the lock: the `deinit` of the former observer may use this coordinator.
      let former = observing.withLock { exchange(&$0, with: newValue) }
      withExtendedLifetime(former) {}
      if newValue != nil { StackObservers.add() }
    }
  }

  /// Returns the time that a save gives to attributes derived by ``Derivation/now``: the time of the system unless the
  /// program sets another function, as tests do. Every save, batch request and claim calls the function on its own
  /// thread, once for its records and once for the records of a ``SaveParticipant``. The function must not use the
  /// context that saves.
  public var clock: @Sendable () -> Date {
    get { timeSource.withLock { $0.now } }
    set {
      // Released after the lock: the former function may retain objects whose `deinit` uses this coordinator.
      let former = timeSource.withLock { exchange(&$0, with: TimeSource(now: newValue)) }
      withExtendedLifetime(former) {}
    }
  }

  /// Makes a coordinator without stores.
  ///
  /// - Parameters:
  ///   - registry: The registry of store types given by name; `nil` for ``StoreRegistry/current``.
  ///   - logger: Receives the warnings of the model and the messages of stores; `nil` for a logger labelled
  ///     "coherence".
  public init(
    managedObjectModel model: ManagedObjectModel, registry: StoreRegistry? = nil, logger: Logger? = nil
  ) {
    managedObjectModel = model
    self.registry = registry
    self.logger = logger ?? Logger(label: "coherence")
    for warning in model.warnings { self.logger.debug("\(warning)") }
  }

  deinit {
    for store in attachedStores.withLock({ $0 }) {
      store.close()
      AttachedStores.all.remove(store)
    }
  }

  /// The attached stores, in order of attachment.
  public var persistentStores: [any PersistentStore] { attachedStores.withLock { $0 } }

  /// The number of stores attached and detached so far. Another number shows that state known of a store may be out of
  /// date, because another store may have taken its place. Costs the read of one word.
  package var storeChangeCount: Int { storeChanges.load(ordering: .acquiring) }

  /// The attached store with an identifier; `nil` for none. Compares the identifiers of all attached stores.
  public func persistentStore(with identifier: StoreIdentifier) -> (any PersistentStore)? {
    persistentStores.first { $0.identifier == identifier }
  }

  // MARK: Attaching

  /// Opens a store and attaches it. Blocks the calling thread while the store is opened, created or migrated to the
  /// model.
  ///
  /// - Parameters:
  ///   - configurationName: The model configuration whose entities the store holds; `nil` for all entities. For a name
  ///     that the model does not know, the store has no entities, and the log has a warning.
  ///   - url: The store's file or location; `nil` for a store without a location.
  /// - Throws: ``ErrorCode/unknownStoreType``, ``ErrorCode/invalidOption``, ``ErrorCode/storeAttachedTwice``,
  ///   ``ErrorCode/incompatibleModel``, ``ErrorCode/notADatabase`` and the other codes of a failed opening;
  ///   ``ErrorCode/storeBusy`` while another coordinator destroys the store. A call that throws attaches nothing.
  @discardableResult
  public func addPersistentStore(
    type: StoreType, configurationName: String? = nil, at url: URL? = nil, options: [String: OptionValue] = [:]
  ) throws -> any PersistentStore {
    try checkOptions(options)
    // A migration would wait for the open transactions of the main queue's turn, in any coordinator with the store.
    MainTurns.endUnits()
    let environment = environment(type: type, configurationName: configurationName, at: url, options: options)
    let factory = try (registry ?? .current).factory(for: type)
    if let path = StoreIdentity.filePath(of: url),
      persistentStores.contains(where: { StoreIdentity.filePath(of: $0.url) == path })
    {
      throw attachedTwice(url)
    }
    let store = try observed(StackOperation(.attach, type.name)) { try factory.open(environment) }
    do {
      try AttachedStores.all.add(store, to: self)
    } catch {
      store.close()
      throw error
    }
    let isNew = attachedStores.withLock { stores in
      guard !stores.contains(where: { $0.identifier == store.identifier }) else { return false }
      stores.append(store)
      return true
    }
    guard isNew else {
      AttachedStores.all.remove(store)
      store.close()
      throw attachedTwice(url)
    }
    storeChanges.add(1, ordering: .acquiringAndReleasing)
    if let store = store as? any StateMarking { rowCache.add(store) }
    signalStreams.storeAdded(store)
    storeEventHub.post(.everything)
    return store
  }

  /// Checks the types of the options common to all stores. A store checks its own options.
  private func checkOptions(_ options: [String: OptionValue]) throws(CoherenceError) {
    for name in StoreOption.all {
      switch options[name] {
      case nil, .bool: continue
      default: throw CoherenceError(.invalidOption, "The store option '\(name)' must be true or false.")
      }
    }
  }

  /// Opens the store that a configuration describes and attaches it. Blocks the calling thread while the store is
  /// opened.
  ///
  /// - Parameter url: The resolved file or location, see
  ///   ``StoreConfiguration/resolveURL(defaultStorePrefix:storeLocation:usesFiles:)``.
  /// - Throws: As ``addPersistentStore(type:configurationName:at:options:)``.
  @discardableResult
  public func addPersistentStore(_ configuration: StoreConfiguration, at url: URL?) throws -> any PersistentStore {
    try addPersistentStore(
      type: configuration.type, configurationName: configuration.name, at: url, options: configuration.options)
  }

  /// The environment that this coordinator opens a store with: its model's entities of the configuration, its logger,
  /// and the options. Opens nothing.
  public func environment(
    type: StoreType, configurationName: String?, at url: URL?, options: [String: OptionValue] = [:]
  ) -> StoreEnvironment {
    if let configurationName, managedObjectModel.entities(forConfigurationName: configurationName) == nil {
      let names = managedObjectModel.configurations
      let known = names.isEmpty ? "no configurations" : "the configurations \(names.quoted)"
      logger.warning(
        """
        The model has no configuration '\(configurationName)', so that the store will hold no entities. The model \
        has \(known): correct the name, or leave it out for a store of all entities. The name of a file is the \
        `fileName` of a StoreConfiguration.
        """)
    }
    return StoreEnvironment(
      type: type, url: url, configurationName: configurationName, model: managedObjectModel, options: options,
      logger: logger)
  }

  /// The factory of a store type in this coordinator's registry.
  ///
  /// - Throws: ``ErrorCode/unknownStoreType``.
  public func factory(for type: StoreType) throws -> any StoreFactory { try (registry ?? .current).factory(for: type) }

  /// Detaches a store and closes it. Objects of its records can be neither loaded nor saved afterwards. Deletes no
  /// record and no file.
  ///
  /// - Throws: ``ErrorCode/storeDetached`` when the store is not attached.
  public func remove(_ store: any PersistentStore) throws {
    let isAttached = attachedStores.withLock { stores in
      let count = stores.count
      stores.removeAll { $0 === store }
      return stores.count < count
    }
    guard isAttached else {
      throw CoherenceError(
        .storeDetached,
        "The store cannot be removed, because it is not attached to this coordinator; pass an attached store.")
    }
    storeChanges.add(1, ordering: .acquiringAndReleasing)
    rowCache.remove(store)
    signalStreams.storeRemoved(store)
    MainTurns.endUnits()
    lastingReaders.release(store)
    store.close()
    AttachedStores.all.remove(store)
    storeEventHub.post(.detached(store))
  }

  /// Reads the metadata of a store, which may block. The store need not be attached.
  ///
  /// - Throws: Errors of the store.
  public func metadata(for store: any PersistentStore) throws -> StoreMetadata { try store.metadata() }

  private func attachedTwice(_ url: URL?) -> CoherenceError {
    let location = url.flatMap { $0.isFileURL ? " at '\($0.path)'" : nil } ?? ""
    return CoherenceError(
      .storeAttachedTwice, "The store\(location) is attached to this coordinator already; detach it first.")
  }

  // MARK: Routing

  /// The attached stores.
  ///
  /// - Throws: ``ErrorCode/contextWithoutStore`` when no store is attached.
  func openStores() throws(CoherenceError) -> [any PersistentStore] {
    let stores = persistentStores
    guard !stores.isEmpty else {
      throw CoherenceError(
        .contextWithoutStore,
        "No store is attached. Attach a store before fetching or saving, and keep the container in a property or "
          + "variable: its release closes its stores.")
    }
    return stores
  }

  /// The attached stores that hold an entity.
  ///
  /// - Throws: ``ErrorCode/contextWithoutStore``, ``ErrorCode/noStore``.
  func stores(holding entity: EntityDescription) throws(CoherenceError) -> [any PersistentStore] {
    let stores = try openStores().filter { $0.environment.entities.contains { $0 === entity } }
    guard !stores.isEmpty else {
      let names = managedObjectModel.configurations(with: entity).quoted
      let advice = names.isEmpty ? "without the name of a configuration" : "for the configuration \(names)"
      throw CoherenceError(.noStore, "No attached store holds '\(entity.name)'; attach a store \(advice).")
    }
    return stores
  }

  /// The attached stores that hold an entity, in the order in which they are chosen for new records: the read-only
  /// stores last, and otherwise in the order of their attachment.
  ///
  /// - Throws: ``ErrorCode/contextWithoutStore``, ``ErrorCode/noStore``.
  func storesForNewRecords(of entity: EntityDescription) throws(CoherenceError) -> [any PersistentStore] {
    let stores = try stores(holding: entity)
    guard stores.count > 1 else { return stores }
    return stores.filter { !$0.environment.isReadOnly } + stores.filter { $0.environment.isReadOnly }
  }

  /// The attached store of a permanent identifier.
  ///
  /// - Throws: ``ErrorCode/contextWithoutStore``, ``ErrorCode/storeDetached``.
  func store(of id: ManagedObjectID) throws(CoherenceError) -> any PersistentStore {
    let stores = try openStores()
    guard let store = stores.first(where: { $0.identifier == id.storeIdentifier }) else {
      throw CoherenceError(
        .storeDetached,
        "The store of an object of '\(id.entity.name)' is not attached; attach the store again, or reset the context.")
    }
    return store
  }

  // MARK: Identifiers

  /// Returns the identifier for a text made by ``ManagedObjectID/description``; `nil` if the identifier's store is not
  /// attached or does not hold the entity, and for any other text. Reads no store, so that the record may not exist any
  /// more.
  public func objectID(forDescription text: String) -> ManagedObjectID? {
    StoredObjectID(text).flatMap { try? objectID(for: $0) }
  }
}

extension [String] {
  /// The names in quotation marks, separated by commas.
  fileprivate var quoted: String { map { "'\($0)'" }.joined(separator: ", ") }
}
