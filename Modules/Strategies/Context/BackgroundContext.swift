public import CoherenceCore
import Synchronization

/// A context for work off the main actor, made by a container.
///
/// A container makes contexts of any subclass: `let context: ImportContext = container.newGenericBackgroundContext()`.
/// The context is confined to a queue of its own. The container does not retain the context.
open class BackgroundContext: ManagedObjectContext, @unchecked Sendable {
  // Sendable: as the base class is; `onDeinit` is behind its mutex.
  private let onDeinit = Mutex<(@Sendable () -> Void)?>(nil)

  /// Called when the last reference to the context is released, on the releasing thread. May be set from any thread.
  public final var deinitBlock: (@Sendable () -> Void)? {
    get { onDeinit.withLock { $0 } }
    set {
      // Released after the lock: the `deinit` of an object in the former closure may use this context.
      let former = onDeinit.withLock { exchange(&$0, with: newValue) }
      withExtendedLifetime(former) {}
    }
  }

  /// Makes a context without a coordinator or parent, which a container or strategy sets.
  public required init(concurrencyType: ConcurrencyType = .privateQueue) {
    super.init(concurrencyType: concurrencyType)
  }

  deinit { deinitBlock?() }
}
