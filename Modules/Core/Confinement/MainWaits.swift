import Dispatch
import Synchronization

// The main actor may wait for a context whose block waits for the main actor in its turn. Both would wait forever. So
// the thread that holds the main actor runs, while it waits for a context, the blocks for main that it waits for by
// waiting there, and no others: these are blocks that the context's block could have called on the same thread.

/// Which threads wait for which contexts, and which blocks for the main actor are waited for.
///
/// The pool's lock guards it.
struct MainWaits {
  /// By the thread's number. Of two waits of one thread, the inner one.
  private var waiting: [UInt: WaitingThread] = [:]
  /// The thread that holds the main actor while it waits for a context; zero when none does.
  private var mainThread: UInt = 0
  /// The blocks for the main actor not begun yet, as far as the pool knows.
  private var hops: [PendingHop] = []

  var isMainWaiting: Bool { mainThread != 0 }
  var hopCount: Int { hops.count }

  // MARK: Waits

  mutating func begin(_ thread: WaitingThread, holdsMain: Bool) {
    thread.id = currentThread
    thread.outer = waiting.updateValue(thread, forKey: thread.id)
    if holdsMain { mainThread = thread.id }
  }

  /// Does nothing for a thread whose wait has not begun.
  mutating func end(_ thread: WaitingThread) {
    guard thread.id != 0 else { return }
    waiting[thread.id] = thread.outer
    if thread.outer == nil, mainThread == thread.id { mainThread = 0 }
  }

  // MARK: Hops

  mutating func add(_ hop: PendingHop) { hops.append(hop) }

  mutating func remove(_ hop: PendingHop) { hops.removeAll { $0 === hop } }

  /// Looks for a block for the main actor whose sender the main actor waits for, and hands it over.
  ///
  /// - Returns: What to do after the lock is given back.
  mutating func handOver() -> Handover? {
    guard !hops.isEmpty, let main = waiting[mainThread] else { return nil }
    var awaited = main
    // As many steps as waiting threads: contexts that wait for each other lead in a circle.
    for _ in 0...waiting.count {
      let holder = awaited.context.owner.load(ordering: .relaxed)
      if let index = hops.firstIndex(where: { $0.sender == holder }) {
        guard main.servesMain else { return .refuse }
        main.hop = hops.remove(at: index)
        return .wake(main)
      }
      guard let next = waiting[holder], next !== awaited else { return nil }
      awaited = next
    }
    return nil
  }

  /// What becomes of a block for the main actor whose sender the main actor waits for.
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

/// A thread that waits to be given a context.
final class WaitingThread: @unchecked Sendable {
  // Sendable: the pool's lock guards the mutable state.
  let semaphore = DispatchSemaphore(value: 0)
  let context: Confinement
  /// Whether the thread, if it holds the main actor, may run blocks for main while it waits.
  let servesMain: Bool
  /// The worker that the thread is, if it is one.
  var worker: WorkerPool.Worker?
  var isAwake = false
  /// The thread's number; zero before the wait begins.
  fileprivate var id: UInt = 0
  /// The wait of the same thread in which a block for main began this one.
  fileprivate var outer: WaitingThread?
  /// The block for main that the thread has to run.
  var hop: PendingHop?

  init(for context: Confinement, servesMain: Bool) {
    self.context = context
    self.servesMain = servesMain
  }
}
