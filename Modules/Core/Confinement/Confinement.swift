import CoherenceRuntime
import Dispatch
import Synchronization

/// Decides which thread may use a context: one thread at a time, in the order of the context's queue, or one fixed
/// thread.
///
/// Every access to an object checks the rule, in release builds too. A check reads one word and compares it with the
/// calling thread.
final class Confinement: @unchecked Sendable {
  // Sendable: the queue's state is used under `lock` only; the rest is constant or atomic.

  /// The thread inside the context, zero for none.
  @usableFromInline let owner = Atomic<UInt>(0)
  let isMain: Bool
  /// The thread that the context belongs to permanently, zero when the context belongs to a queue.
  private let home: UInt
  /// The number of nested entries of the thread inside the context.
  private let depth = Atomic<Int>(0)

  // The queue of a private context: see `Confinement+Queue`.
  let pool: WorkerPool
  let lock = Lock()
  // Safety of `@exclusivity(unchecked)`: `lock`, which is not re-entrant, admits one access at a time.
  @exclusivity(unchecked) var entries = EntryList()
  @exclusivity(unchecked) var state = QueueState.idle

  /// - Parameters:
  ///   - isMain: Whether the context belongs to the main actor.
  ///   - isOfThread: Whether the context belongs to the calling thread, and to no queue.
  init(isMain: Bool, isOfThread: Bool, pool: WorkerPool) {
    self.isMain = isMain
    home = isOfThread ? currentThread : 0
    self.pool = pool
    if isMain { MainQueue.watch() }
  }

  /// Whether the context belongs to one fixed thread and has no queue.
  var isOfThread: Bool { home != 0 }

  /// Whether the context needs no `perform` in its home: the main actor, or the context's fixed thread.
  var isUsedDirectly: Bool { isMain || isOfThread }

  /// Whether the calling thread is the context's home: the main actor, or the context's fixed thread.
  private var isAtHome: Bool { isMain ? Self.isOnMain : home == currentThread }

  /// Whether the calling thread may use the context now.
  @inline(__always) var isInside: Bool {
    owner.load(ordering: .relaxed) == currentThread || isAtHome
  }

  /// Ends the process with a sentence when the calling thread may not use the context.
  ///
  /// - Parameter subject: The name of the used object, for the message.
  @inline(__always) func check(_ subject: @autoclosure () -> String) {
    if owner.load(ordering: .relaxed) == currentThread { return }
    if !isInsideAtHome { Misuse.fail(advice(subject())) }
  }

  /// As `isAtHome`. A function of its own, so that `check` stays small where it is inlined.
  @inline(never) private var isInsideAtHome: Bool { isAtHome }

  private func advice(_ subject: String) -> String {
    if isMain { return "\(subject) was used off the main actor. Use `perform` or `performAndWait`." }
    if isOfThread {
      return "\(subject), which belongs to a thread, was used on another thread. "
        + "Use a context of that other thread, or one with a queue."
    }
    return "\(subject) was used outside of its `perform` or `performAndWait`."
  }

  /// Whether the calling thread has entered the context. The main actor alone does not count.
  var isEntered: Bool { owner.load(ordering: .relaxed) == currentThread }

  /// Enters the context on a thread that the queue admitted. Entries nest; each needs a call of ``leave()``.
  ///
  /// - Returns: Whether this is the outermost entry.
  func enter() -> Bool {
    if isEntered {
      depth.add(1, ordering: .relaxed)
      return false
    }
    owner.store(currentThread, ordering: .relaxed)
    depth.store(1, ordering: .relaxed)
    return true
  }

  func leave() {
    if depth.subtract(1, ordering: .relaxed).newValue == 0 { owner.store(0, ordering: .relaxed) }
  }

  // MARK: Main

  private static let mainKey = DispatchSpecificKey<Bool>()
  /// Marks the main queue. Evaluated once, before the first look for the mark.
  private static let mark: Void = DispatchQueue.main.setSpecific(key: mainKey, value: true)

  /// Whether the caller runs on the main actor.
  ///
  /// The runtime knows the executor of the calling thread's job, which stays the same when the thread enters another
  /// queue synchronously. A plain block of the main queue is no job; the queue's mark identifies it.
  static var isOnMain: Bool { coherence_is_on_main_actor() || isInMainQueueBlock }

  /// Whether the caller is a block of the main queue, or of a queue that targets it. Not visible inside the `sync` of
  /// another queue.
  private static var isInMainQueueBlock: Bool {
    _ = mark
    return DispatchQueue.getSpecific(key: mainKey) == true
  }

  /// Whether the caller is a job or a block of the main queue, which proves that the process runs the main queue.
  static var isRunByMainQueue: Bool { coherence_is_in_main_job() || isInMainQueueBlock }
}

/// A number for the calling thread, unique among running threads and never zero.
@inline(__always) var currentThread: UInt { coherence_current_thread() }

/// The number of the calling thread, for stores that record which thread holds a connection or a lock.
package var callingThread: UInt { currentThread }
