public import CoherenceCore

/// The connections of a container's contexts to each other and to the stores.
///
/// The framework has ``ContextStrategy/Direct``, ``ContextStrategy/DirectIndependent``,
/// ``ContextStrategy/IndirectNested`` and ``ContextStrategy/Mixed``. A strategy of your own inherits from
/// ``ContextStrategy``, or is any type that conforms:
///
/// ```swift
/// final class FollowingView: ContextStrategy, ContextStrategyType {
///   let viewContext: ManagedObjectContext
///
///   required init(
///     persistentStoreCoordinator: PersistentStoreCoordinator, errorHandler: @escaping AsyncErrorHandlerBlock
///   ) {
///     viewContext = ManagedObjectContext(concurrencyType: .mainQueue, coordinator: persistentStoreCoordinator)
///     super.init(persistentStoreCoordinator: persistentStoreCoordinator, errorHandler: errorHandler)
///   }
///
///   func newBackgroundContext<T: BackgroundContext>() -> T {
///     let context = T(concurrencyType: .privateQueue)
///     context.persistentStoreCoordinator = persistentStoreCoordinator
///     viewContext.follow(context)
///     return context
///   }
/// }
/// ```
///
/// A container calls its strategy from one thread at a time, so that a strategy need not be `Sendable`. A strategy must
/// not call its container.
public protocol ContextStrategyType: SendableMetatype {
  /// Makes the strategy and its view context. No store is attached yet.
  ///
  /// - Parameters:
  ///   - persistentStoreCoordinator: The coordinator that stores are attached to later.
  ///   - errorHandler: Receives errors without a caller to throw to. May be called on any thread.
  init(persistentStoreCoordinator: PersistentStoreCoordinator, errorHandler: @escaping AsyncErrorHandlerBlock)

  /// The context of the user interface, confined to the main actor. Every access returns the same context.
  var viewContext: ManagedObjectContext { get }

  /// Makes a context for work off the main actor. The strategy does not retain the context.
  func newBackgroundContext<T: BackgroundContext>() -> T
}
