public import CoherenceCore
import Dispatch
public import Foundation
public import Logging

/// A container with the contexts of a strategy.
///
/// ```swift
/// let container = GenericPersistentContainer<ContextStrategy.Mixed>(name: "Music", managedObjectModel: model)
/// try container.attachPersistentStore()
/// try await container.performBackgroundTask { context in … try context.save() }
/// ```
///
/// Making a container opens no store. The release of the last reference closes its stores; fetches and saves of
/// contexts that outlive the container throw. May be used from any thread.
open class GenericPersistentContainer<Strategy: ContextStrategyType>: PersistentContainer, @unchecked Sendable {
  // Sendable: every property is immutable and Sendable, except the strategy, which is used under its lock; the compiler
  // cannot check an open class.

  public final let name: String
  public final let storeLocation: URL
  public final let persistentStoreCoordinator: PersistentStoreCoordinator
  public final let errorHandler: AsyncErrorHandlerBlock
  public final let viewContext: ManagedObjectContext
  private let strategy: Strategy
  /// Held during calls of the strategy, which need not be `Sendable`.
  private let strategyLock = Lock()
  let logger: Logger

  /// Makes a container for the model registered under the container's name; see
  /// ``init(name:managedObjectModel:storeLocation:asyncErrorBlock:registry:logger:)`` for the parameters.
  ///
  /// - Throws: ``ErrorCode/modelNotFound``, listing the registered names.
  public convenience init(
    name: String, storeLocation: URL? = nil, asyncErrorBlock: AsyncErrorHandlerBlock? = nil,
    registry: StoreRegistry? = nil, logger: Logger? = nil
  ) throws {
    self.init(
      name: name, managedObjectModel: try ManagedObjectModel.named(name), storeLocation: storeLocation,
      asyncErrorBlock: asyncErrorBlock, registry: registry, logger: logger)
  }

  /// Makes a container without stores.
  ///
  /// - Parameters:
  ///   - name: The name of the container, with which the names of its stores' files begin unless a configuration names
  ///     the file.
  ///   - model: The model of all stores.
  ///   - storeLocation: The directory of stores attached without a directory; by default ``defaultStoreLocation()``.
  ///   - asyncErrorBlock: Called on a serial queue of its own with errors of work without a waiting caller, after they
  ///     were logged.
  ///   - registry: Resolves store types without a factory, by name; by default the current registry.
  ///   - logger: By default a logger with the label `coherence.container`.
  public required init(
    name: String, managedObjectModel model: ManagedObjectModel, storeLocation: URL? = nil,
    asyncErrorBlock: AsyncErrorHandlerBlock? = nil, registry: StoreRegistry? = nil, logger: Logger? = nil
  ) {
    let logger = logger ?? Logger(label: "coherence.container")
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model, registry: registry, logger: logger)
    let handler = Self.handler(logger: logger, block: asyncErrorBlock)
    self.name = name
    self.storeLocation = storeLocation ?? Self.defaultStoreLocation()
    self.persistentStoreCoordinator = coordinator
    self.errorHandler = handler
    self.strategy = Strategy(persistentStoreCoordinator: coordinator, errorHandler: handler)
    self.viewContext = strategy.viewContext
    self.logger = logger
  }

  deinit {
    for store in persistentStoreCoordinator.persistentStores {
      do {
        try persistentStoreCoordinator.remove(store)
      } catch {
        logger.error("A store could not be closed with its container.", metadata: ["error": "\(error.logText)"])
      }
    }
  }

  /// The default directory of stores: `$XDG_DATA_HOME/Coherence`, or `~/.local/share/Coherence`; the application
  /// support directory on Apple's platforms.
  open class func defaultStoreLocation() -> URL { DefaultStoreLocation.url() }

  public final var managedObjectModel: ManagedObjectModel { persistentStoreCoordinator.managedObjectModel }

  /// Makes a context for work off the main actor.
  public final func newBackgroundContext() -> BackgroundContext { newGenericBackgroundContext() }

  /// Makes a context of a subclass of ``BackgroundContext`` for work off the main actor:
  /// `let context: ImportContext = container.newGenericBackgroundContext()`.
  public final func newGenericBackgroundContext<T: BackgroundContext>(_ type: T.Type = T.self) -> T {
    strategyLock.withLock { strategy.newBackgroundContext() }
  }

  /// Returns a handler that logs an error, and then has the block of the container's user called.
  private static func handler(logger: Logger, block: AsyncErrorHandlerBlock?) -> AsyncErrorHandlerBlock {
    // Serial, so that the block receives errors in the order of their occurrence. Not a global queue, whose few threads
    // are shared by all tasks: a blocked block delays only later errors.
    let queue = DispatchQueue(label: "coherence.errors")
    return { error in
      logger.error("An error had no caller to throw to.", metadata: ["error": "\(error.logText)"])
      if let block { queue.async { block(error) } }
    }
  }
}
