public import CoherenceCore

/// How the contexts of a container are connected to each other and to the stores.
///
/// The framework brings ``ContextStrategy/Direct``, ``ContextStrategy/DirectIndependent``,
/// ``ContextStrategy/IndirectNested`` and ``ContextStrategy/Mixed``. A strategy of your own inherits from
/// ``ContextStrategy``, or is any type that conforms:
///
/// ```swift
/// final class ReadOnlyView: ContextStrategy, ContextStrategyType {
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
/// A container calls its strategy from one thread at a time; a strategy need not be `Sendable`, and must not call its
/// container back.
public protocol ContextStrategyType: SendableMetatype {
  /// Makes the strategy, and with it the view context. No store is attached yet.
  ///
  /// - Parameter errorHandler: For errors that nobody waits for.
  init(persistentStoreCoordinator: PersistentStoreCoordinator, errorHandler: @escaping AsyncErrorHandlerBlock)

  /// The context of the user interface: always the same one, confined to the main actor.
  var viewContext: ManagedObjectContext { get }

  /// Makes a context for work off the main actor. The strategy does not keep it.
  func newBackgroundContext<T: BackgroundContext>() -> T
}
