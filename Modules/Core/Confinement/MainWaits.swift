import Dispatch
import Synchronization

// The main actor may wait for a context whose block waits for the main actor: both would wait forever. So the thread
// that holds the main actor runs certain blocks during its wait: the main-actor blocks sent by the thread that it waits
// for, directly or through other waiting threads. No other blocks run there. If the main actor had run the context's
// block itself, the same main-actor blocks would have run inside it.

/// The threads that wait for contexts, and the main-actor blocks that threads wait for.
///
/// The pool's lock guards it.
struct MainWaits {
  /// The innermost wait of each thread, by the thread's number.
  private var innermostWaits: [UInt: WaitingThread] = [:]
  /// The thread that holds the main actor while it waits for a context; zero when none does.
  private var mainThread: UInt = 0
  /// The main-actor blocks that wait to begin.
  private var hops: [PendingHop] = []

  var isMainWaiting: Bool { mainThread != 0 }
  var hopCount: Int { hops.count }

  // MARK: Waits

  /// Adds a wait of the calling thread.
  mutating func begin(_ thread: WaitingThread, holdsMain: Bool) {
    thread.id = currentThread
    thread.outer = innermostWaits.updateValue(thread, forKey: thread.id)
    if holdsMain { mainThread = thread.id }
  }

  /// Removes the wait of a thread. Does nothing for a thread whose wait has not begun.
  mutating func end(_ thread: WaitingThread) {
    guard thread.id != 0 else { return }
    innermostWaits[thread.id] = thread.outer
    if thread.outer == nil, mainThread == thread.id { mainThread = 0 }
  }

  // MARK: Hops

  mutating func add(_ hop: PendingHop) { hops.append(hop) }

  mutating func remove(_ hop: PendingHop) { hops.removeAll { $0 === hop } }

  /// Finds a main-actor block whose sender the main actor waits for, and hands the block over.
  ///
  /// - Returns: The action to run after the lock is released; `nil` for none.
  mutating func handOver() -> Handover? {
    guard !hops.isEmpty, let main = innermostWaits[mainThread] else { return nil }
    var awaited = main
    // The number of steps is bounded by the number of waiting threads, because contexts may wait for each other in a
    // cycle.
    for _ in 0...innermostWaits.count {
      let holder = awaited.context.owner.load(ordering: .relaxed)
      if let index = hops.firstIndex(where: { $0.sender == holder }) {
        guard main.servesMain else { return .refuse }
        main.hop = hops.remove(at: index)
        return .wake(main)
      }
      guard let next = innermostWaits[holder], next !== awaited else { return nil }
      awaited = next
    }
    return nil
  }

  /// The treatment of a main-actor block whose sender the main actor waits for.
  enum Handover {
    case wake(WaitingThread)
    case refuse

    func run() {
      switch self {
      case .wake(let thread): thread.semaphore.signal()
      case .refuse:
        Misuse.fail(
          "`performAndWait` on a main-queue context would wait forever: the main actor saves that context into its parent "
            + "and waits for the parent's block, which makes this call. Use `perform` in the blocks of a context that a "
            + "main-queue context has as its parent.")
      }
    }
  }
}

/// A block for the main actor that a thread waits for.
final class PendingHop: @unchecked Sendable {
  // Sendable: constant, and `run` is called only by the thread that took the block out of the pool.
  let sender: UInt
  let run: () -> Void

  init(sender: UInt, run: @escaping () -> Void) {
    self.sender = sender
    self.run = run
  }
}

/// A thread that waits to hold a context.
final class WaitingThread: @unchecked Sendable {
  // Sendable: the pool's lock guards the mutable state.
  let semaphore = DispatchSemaphore(value: 0)
  let context: Confinement
  /// Whether the thread, if it holds the main actor, may run blocks for main while it waits.
  let servesMain: Bool
  /// The pool's worker of this thread; `nil` for a thread outside the pool.
  var worker: WorkerPool.Worker?
  /// Whether the context was handed over to the thread.
  var isAwake = false
  /// The thread's number; zero before the wait begins.
  fileprivate var id: UInt = 0
  /// The enclosing wait of the same thread, during which a main-actor block began this wait.
  fileprivate var outer: WaitingThread?
  /// The main-actor block that the thread has to run.
  var hop: PendingHop?

  init(for context: Confinement, servesMain: Bool) {
    self.context = context
    self.servesMain = servesMain
  }
}
