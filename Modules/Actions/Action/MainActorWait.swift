import CoherenceCore
import Dispatch
import Synchronization

/// Blocks a thread until actions have finished. On the main actor the wait ends with an error when an action of the
/// scheduler waits for the main actor in its turn, because neither wait could end.
enum MainActorWait {
  /// Blocks the calling thread until a semaphore is signaled, or until an error.
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
    let flag = MainActorFlag()
    let watch = MainDemand.watch(scheduler) {
      flag.isNeeded.store(true, ordering: .releasing)
      done.signal()
    }
    done.wait()
    watch.end()
    if flag.isNeeded.load(ordering: .acquiring) { throw wouldDeadlock }
  }

  /// Records that an action waits for the main actor.
  private final class MainActorFlag: Sendable {
    let isNeeded = Atomic<Bool>(false)
  }

  private static var wouldDeadlock: CoherenceError {
    CoherenceError(
      .illegalState,
      "The call would block the main actor for an action that waits for the main actor, by `perform` or "
        + "`performAndWait` on a main-queue context, and neither would end. A stop that has begun continues by itself, "
        + "and a store to be detached remains attached; call the asynchronous form with `await`, or make the call "
        + "outside of the main actor.")
  }
}
