public import Dispatch

/// Where and in which turn observers are called.
///
/// The first value comes at once, on the caller of `observe`. What comes later is handed over to the delivery when the
/// transaction that changed something is over. The calls of one delivery come one after the other, also on a concurrent
/// queue: transactions in their order; in a transaction entities before what contains them, otherwise in the order in
/// which they changed; for one entity observers in the order in which they began. A value that was replaced before it could be
/// delivered is left out.
public struct Delivery: Sendable {
  let run: @Sendable (@escaping @Sendable () -> Void) -> Void

  private init(run: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) {
    self.run = run
  }

  /// A serial queue of the store's own. Needs no main loop.
  public static var serial: Delivery {
    let queue = DispatchQueue(label: "coherence.identity-map")
    return Delivery { queue.async(execute: $0) }
  }

  /// The main queue, which somebody has to run.
  public static let main = Delivery { DispatchQueue.main.async(execute: $0) }

  /// The thread that ended the transaction, before its call returns. When another thread is delivering already, that
  /// one delivers this too.
  public static let immediate = Delivery { $0() }

  /// A dispatch queue.
  public static func queue(_ queue: DispatchQueue) -> Delivery {
    Delivery { queue.async(execute: $0) }
  }

  /// An executor of tasks.
  public static func executor(_ executor: any TaskExecutor) -> Delivery {
    Delivery { work in Task(executorPreference: executor) { work() } }
  }

  /// Whatever runs closures later: the event loop of a server, an operation queue.
  /// - Parameter schedule: Called with work that has to be run once. There is never more than one piece at a time.
  public static func custom(_ schedule: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) -> Delivery {
    Delivery(run: schedule)
  }
}
