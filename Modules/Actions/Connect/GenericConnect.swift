public import CoherenceCore
public import CoherenceStrategies
import Dispatch
public import Foundation
public import Logging
import Synchronization

/// A ``Connect`` with the contexts of a strategy.
///
/// ```swift
/// let connect = GenericConnect<ContextStrategy.Mixed>(name: "Music", managedObjectModel: model)
/// try connect.start()
/// try connect.execute(RefreshAlbums()) { proxy in print(proxy.completionStatus) }
/// ```
///
/// May be used from any thread. Submitting an action never waits for the opening or closing of a store.
///
/// ``ConnectOptions`` limit the number of simultaneous actions; by default five generic actions run at once. Each
/// submission may have ``ActionOptions``. Without options, an action has one attempt, no timeout, and no equal action.
///
/// The release of the last reference to a Connect cancels its actions. Running actions keep the stores open until their
/// end. To wait for them, stop the Connect first.
open class GenericConnect<Strategy: ContextStrategyType>: Connect, @unchecked Sendable {
  // Sendable: every property is immutable and Sendable, and mutable state is behind locks; the compiler cannot check an
  // open class.

  let container: GenericPersistentContainer<Strategy>
  let dispatcher: ActionDispatcher
  let logger: Logger
  let lifecycle = Mutex(ConnectLifecycle())
  /// The streams of ``SuspensionReporting/suspensions``.
  let suspensionStreams = Broadcast<Bool>()
  /// The attached stores, and the stores of the next start. The lock is held while stores are opened and closed, so that
  /// two calls do so one after the other. It is acquired before the lock of the lifecycle.
  let attachments = Mutex<[StoreAttachment]>([])
  /// The value of `pendingEdits`.
  let pendingEditsSource = Mutex<(any PendingEdits)?>(nil)
  /// The queue on which asynchronous starts and stops begin, in the order of their calls.
  let lifecycleQueue = DispatchQueue(label: "connect.queue.synchronization", qos: .userInitiated)

  /// Makes a Connect for the model registered under the Connect's name; see
  /// ``init(name:managedObjectModel:storeLocation:asyncErrorBlock:registry:logger:options:)`` for the parameters.
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
  ///   - name: The name of the Connect, with which the names of its stores' files begin.
  ///   - model: The model of all stores.
  ///   - storeLocation: The directory of stores attached without a directory; by default ``defaultStoreLocation()``.
  ///   - asyncErrorBlock: Called on a serial queue of its own with errors that no caller receives, after they were logged.
  ///   - registry: Resolves store types without a factory, by name; by default the current registry.
  ///   - logger: By default a logger with the label `coherence.connect`.
  ///   - options: The limits and the clock of the actions.
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
    let events = EventPublisher(
      logger: logger, maximumBlockedCompletions: options.maximumConcurrentCompletionBlocks)
    dispatcher = ActionDispatcher(
      events: events, maximumConcurrentGenericActions: options.maximumConcurrentGenericActions, clock: options.clock)
    events.setSender(self)
  }

  deinit { dispatcher.shutDown() }

  /// The default directory of stores: `$XDG_DATA_HOME/Coherence`, or `~/.local/share/Coherence`; the
  /// application support directory on Apple's platforms.
  open class func defaultStoreLocation() -> URL { GenericPersistentContainer<Strategy>.defaultStoreLocation() }

  // MARK: The container

  public final var name: String { container.name }
  public final var storeLocation: URL { container.storeLocation }
  public final var managedObjectModel: ManagedObjectModel { container.managedObjectModel }
  public final var persistentStoreCoordinator: PersistentStoreCoordinator { container.persistentStoreCoordinator }
  public final var errorHandler: AsyncErrorHandlerBlock { container.errorHandler }
  public final var viewContext: ManagedObjectContext { container.viewContext }
  public final func newBackgroundContext() -> BackgroundContext { container.newBackgroundContext() }

  /// Makes a context of a subclass of `BackgroundContext` for work off the main actor: `let context: ImportContext = …`.
  public final func newGenericBackgroundContext<T: BackgroundContext>(_ type: T.Type = T.self) -> T {
    container.newGenericBackgroundContext(type)
  }

  // MARK: Events

  public final var events: AsyncStream<ConnectEvent> { events(.unbounded) }

  /// A new stream of the events from now on.
  ///
  /// - Parameter policy: The number of events that the stream keeps for a slow reader.
  public final func events(
    _ policy: AsyncStream<ConnectEvent>.Continuation.BufferingPolicy
  ) -> AsyncStream<ConnectEvent> { dispatcher.events.stream(policy) }
}
