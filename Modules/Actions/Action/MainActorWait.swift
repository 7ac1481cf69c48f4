import CoherenceCore
import Dispatch
import Synchronization

/// Blocks a thread until actions have finished. On the main actor the wait is refused when one of the actions waits for
/// the main actor in its turn, because neither wait could end.
enum MainActorWait {
  /// Blocks the calling thread until a semaphore is signaled.
  ///
  /// - Parameter scheduler: The scheduler of the awaited actions.
  /// - Throws: ``ErrorCode/illegalState`` on the main actor, when an action of the scheduler waits for a main-queue
  ///   context.
  static func block(until done: DispatchSemaphore, for scheduler: (any ActionScheduler)?) throws {
    ManagedObjectContext.endMainUnits()
    guard ManagedObjectContext.isOnMain, let scheduler else {
      done.wait()
      return
    }
    let demand = Demand()
    let watch = MainDemand.watch(scheduler) {
      demand.exists.store(true, ordering: .releasing)
      done.signal()
    }
    done.wait()
    watch.end()
    if demand.exists.load(ordering: .acquiring) { throw refusal }
  }

  /// Whether an action waits for the main actor.
  private final class Demand: Sendable {
    let exists = Atomic<Bool>(false)
  }

  private static var refusal: CoherenceError {
    CoherenceError(
      .illegalState,
      "The call would block the main actor for an action that waits for the main actor, by `perform` or "
        + "`performAndWait` on a main-queue context, and neither would end. A stop that began goes on by itself, and a "
        + "store that was to be detached stays; call the asynchronous form with `await`, or call off the main actor.")
  }
}
