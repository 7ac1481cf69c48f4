public import CoherenceCore
public import CoherenceStrategies
import Dispatch
public import Foundation
public import Logging
import Synchronization

/// A ``Connect`` whose contexts are connected as a strategy says.
///
/// ```swift
/// let connect = GenericConnect<ContextStrategy.Mixed>(name: "Music", managedObjectModel: model)
/// try connect.start()
/// try connect.execute(RefreshAlbums()) { proxy in print(proxy.completionStatus) }
/// ```
///
/// May be used from any thread. Submitting an action never waits for the opening or closing of a store.
///
/// ``ConnectOptions`` say how many actions run at once, five generic ones by default. Each execution may have
/// ``ActionOptions``; without, an action has one attempt, no timeout, and equals no other action.
///
/// When the last reference to a Connect is released, its actions are canceled. Running actions keep their stores until
/// they have ended; to wait for them, stop the Connect first.
open class GenericConnect<Strategy: ContextStrategyType>: Connect, @unchecked Sendable {
  // Sendable: every property is immutable and Sendable, what changes is behind locks; the compiler cannot check an open
  // class.

  let container: GenericPersistentContainer<Strategy>
  let dispatcher: ActionDispatcher
  let logger: Logger
  let lifecycle = Mutex(ConnectLifecycle())
  /// The stores, attached and remembered. Held while stores are opened and closed, so that this happens one at a time,
  /// and taken before the lock of the lifecycle.
  let attachments = Mutex<[StoreAttachment]>([])
  /// The queue on which non-blocking starts and stops begin, in the order in which they were called for.
  let lifecycleQueue = DispatchQueue(label: "connect.queue.synchronization", qos: .userInitiated)

  /// Makes a Connect for the model registered by its name.
  ///
  /// - Throws: ``ErrorCode/modelNotFound``, listing the registered names.
  public convenience init(
    name: String, storeLocation: URL? = nil, asyncErrorBlock: AsyncErrorHandlerBlock? = nil,
    registry: StoreRegistry? = nil, logger: Logger? = nil, options: ConnectOptions = ConnectOptions()
  ) throws {
    self.init(
      name: name, managedObjectModel: try ManagedObjectModel.named(name), storeLocation: storeLocation,
      asyncErrorBlock: asyncErrorBlock, registry: registry, logger: logger, options: options)
  }

  /// Makes a Connect. Nothing is opened or started.
  ///
  /// - Parameters:
  ///   - storeLocation: The directory for stores whose place is not given at attach; ``defaultStoreLocation()`` without.
  ///   - asyncErrorBlock: Called, on a serial queue of its own, with errors that no caller receives, after they were
  ///     logged.
  ///   - registry: Where store types given by a bare name are looked up; the registry in force without.
  ///   - options: How actions are executed.
  public required init(
    name: String, managedObjectModel model: ManagedObjectModel, storeLocation: URL? = nil,
    asyncErrorBlock: AsyncErrorHandlerBlock? = nil, registry: StoreRegistry? = nil, logger: Logger? = nil,
    options: ConnectOptions = ConnectOptions()
  ) {
    let logger = logger ?? Logger(label: "coherence.connect")
    self.logger = logger
    container = GenericPersistentContainer(
      name: name, managedObjectModel: model, storeLocation: storeLocation ?? Self.defaultStoreLocation(),
      asyncErrorBlock: asyncErrorBlock, registry: registry, logger: logger)
    dispatcher = ActionDispatcher(options: options, logger: logger)
    dispatcher.events.setSource(self)
  }

  deinit { dispatcher.end() }

  /// `$XDG_DATA_HOME/Coherence`, or `~/.local/share/Coherence`; the application support directory on Apple's platforms.
  open class func defaultStoreLocation() -> URL { GenericPersistentContainer<Strategy>.defaultStoreLocation() }

  // MARK: The container

  public final var name: String { container.name }
  public final var storeLocation: URL { container.storeLocation }
  public final var managedObjectModel: ManagedObjectModel { container.managedObjectModel }
  public final var persistentStoreCoordinator: PersistentStoreCoordinator { container.persistentStoreCoordinator }
  public final var errorHandler: AsyncErrorHandlerBlock { container.errorHandler }
  public final var viewContext: ManagedObjectContext { container.viewContext }
  public final func newBackgroundContext() -> BackgroundContext { container.newBackgroundContext() }

  /// Makes a context of any kind for work off the main actor: `let context: ImportContext = …`.
  public final func newGenericBackgroundContext<T: BackgroundContext>(_ type: T.Type = T.self) -> T {
    container.newGenericBackgroundContext(type)
  }

  // MARK: What happens

  public final var events: AsyncStream<ConnectEvent> { events(.unbounded) }

  /// The events from now on, with a policy for the number of events kept for a slow listener.
  public final func events(
    _ policy: AsyncStream<ConnectEvent>.Continuation.BufferingPolicy
  ) -> AsyncStream<ConnectEvent> { dispatcher.events.stream(policy) }
}
