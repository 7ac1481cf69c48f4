public import Dispatch

/// The queue and the order in which observers are called.
///
/// The first value is delivered at once, on the caller of `observe`. Later values are passed to the delivery at the end
/// of the transaction that changed them. The calls of one delivery are serial, also on a concurrent queue: in the order
/// of the transactions; within a transaction, entities before the aggregates that contain them, otherwise in the order
/// of the changes; for one entity, in the order in which its observers began. A value replaced before its
/// delivery is skipped.
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

  /// The main queue, which the program has to run.
  public static let main = Delivery { DispatchQueue.main.async(execute: $0) }

  /// The thread that ended the transaction, before its call returns. If another thread is already delivering, that
  /// thread also delivers these values.
  public static let immediate = Delivery { $0() }

  /// A dispatch queue.
  public static func queue(_ queue: DispatchQueue) -> Delivery {
    Delivery { queue.async(execute: $0) }
  }

  /// An executor of tasks.
  public static func executor(_ executor: any TaskExecutor) -> Delivery {
    Delivery { work in Task(executorPreference: executor) { work() } }
  }

  /// Another scheduler: the event loop of a server, an operation queue.
  /// - Parameter schedule: Receives work to run once. The next work is scheduled after the previous has run.
  public static func custom(_ schedule: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) -> Delivery {
    Delivery(run: schedule)
  }
}
