import CoherenceCore
import Dispatch
import Synchronization

/// Blocks a thread for actions. The main actor is not blocked for an action that waits for the main actor in its turn:
/// neither would end.
enum BlockedMain {
  /// Blocks the calling thread until a semaphore is signaled.
  ///
  /// - Parameter dispatcher: That of the actions that are waited for.
  /// - Throws: ``ErrorCode/illegalState`` on the main actor, when an action waits for a main-queue context.
  static func wait(for done: DispatchSemaphore, of dispatcher: ActionDispatcher?) throws {
    guard ManagedObjectContext.isOnMain, let dispatcher else {
      done.wait()
      return
    }
    let demand = Demand()
    let watch = MainDemand.watch(dispatcher) {
      demand.isThere.store(true, ordering: .releasing)
      done.signal()
    }
    done.wait()
    watch.end()
    if demand.isThere.load(ordering: .acquiring) { throw refusal }
  }

  private final class Demand: Sendable {
    let isThere = Atomic<Bool>(false)
  }

  private static var refusal: CoherenceError {
    CoherenceError(
      .illegalState,
      "The call would block the main actor for an action that waits for the main actor, by `perform` or "
        + "`performAndWait` on a main-queue context, and neither would end. A stop that began goes on by itself, and a "
        + "store that was to be detached stays; call the asynchronous form with `await`, or call off the main actor.")
  }
}
