public import CoherenceCore
import Dispatch
public import Foundation
public import Logging

/// A container whose contexts are connected as a strategy says.
///
/// ```swift
/// let container = GenericPersistentContainer<ContextStrategy.Mixed>(name: "Music", managedObjectModel: model)
/// try container.attachPersistentStore()
/// try await container.performBackgroundTask { context in … try context.save() }
/// ```
///
/// Making a container opens nothing; when the last reference to it goes, its stores are closed. Contexts may outlive it;
/// their fetches and saves throw from then on.
open class GenericPersistentContainer<Strategy: ContextStrategyType>: PersistentContainer, @unchecked Sendable {
  // Sendable: every property is immutable and Sendable but the strategy, which is used under its lock; the compiler cannot check a class
  // that is open.

  public final let name: String
  public final let storeLocation: URL
  public final let persistentStoreCoordinator: PersistentStoreCoordinator
  public final let errorHandler: AsyncErrorHandlerBlock
  public final let viewContext: ManagedObjectContext
  private let strategy: Strategy
  /// Held while the strategy is at work.
  private let strategyLock = Lock()
  let logger: Logger

  /// Makes a container for the model that is registered by the container's name.
  ///
  /// - Throws: ``ErrorCode/modelNotFound``, listing the names that are registered.
  public convenience init(
    name: String, storeLocation: URL? = nil, asyncErrorBlock: AsyncErrorHandlerBlock? = nil,
    registry: StoreRegistry? = nil, logger: Logger? = nil
  ) throws {
    self.init(
      name: name, managedObjectModel: try ManagedObjectModel.named(name), storeLocation: storeLocation,
      asyncErrorBlock: asyncErrorBlock, registry: registry, logger: logger)
  }

  /// Makes a container.
  ///
  /// - Parameters:
  ///   - storeLocation: The directory for stores whose place is not given at attach; ``defaultStoreLocation()`` without.
  ///   - asyncErrorBlock: Called, on a serial queue of its own, with errors that nobody waits for, after they were logged.
  ///   - registry: Where store types that are given by a bare name are looked up; the registry in force without.
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

  /// `$XDG_DATA_HOME/Coherence`, or `~/.local/share/Coherence`; the application support directory on Apple's platforms.
  open class func defaultStoreLocation() -> URL { DefaultStoreLocation.url() }

  public final var managedObjectModel: ManagedObjectModel { persistentStoreCoordinator.managedObjectModel }

  /// Makes a context for work off the main actor.
  public final func newBackgroundContext() -> BackgroundContext { newGenericBackgroundContext() }

  /// Makes a context of any kind for work off the main actor: `let context: ImportContext = …`.
  public final func newGenericBackgroundContext<T: BackgroundContext>(_ type: T.Type = T.self) -> T {
    strategyLock.withLock { strategy.newBackgroundContext() }
  }

  private static func handler(logger: Logger, block: AsyncErrorHandlerBlock?) -> AsyncErrorHandlerBlock {
    // Serial, so that the block hears of errors in the order in which they happened. Without a global queue as its target,
    // whose few threads all tasks share: a block that blocks delays later errors and nothing else.
    let queue = DispatchQueue(label: "coherence.errors")
    return { error in
      logger.error("An error that nobody waited for.", metadata: ["error": "\(error.logText)"])
      if let block { queue.async { block(error) } }
    }
  }
}
