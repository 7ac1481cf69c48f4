public import CoherenceCore
import Synchronization

/// A context for work off the main actor, made by a container.
///
/// A container makes contexts of any subclass: `let context: ImportContext = container.newGenericBackgroundContext()`.
/// The context is confined to a queue of its own; the container does not keep it.
open class BackgroundContext: ManagedObjectContext, @unchecked Sendable {
  // Sendable: as the base class is; `onDeinit` is under its lock.
  private let onDeinit = Mutex<(@Sendable () -> Void)?>(nil)

  /// Called when the last reference to the context is gone, on the thread that gave it up. May be set from anywhere.
  public final var deinitBlock: (@Sendable () -> Void)? {
    get { onDeinit.withLock { $0 } }
    set { onDeinit.withLock { $0 = newValue } }
  }

  public required init(concurrencyType: ConcurrencyType = .privateQueue) {
    super.init(concurrencyType: concurrencyType)
  }

  deinit { deinitBlock?() }
}
