import Synchronization

/// The groups with due observers, for one delivery. One thread at a time delivers, so that the order of notifications
/// holds on every thread.
final class DeliveryQueue: Sendable {
  private struct State {
    var pending: [AnyObserverGroup] = []
    /// Whether a delivery is running or scheduled.
    var isScheduled = false
  }

  private let delivery: Delivery
  private let state = Mutex(State())
  /// Whether several observers use the queue, as one of the ``DeliveryQueues`` of a store.
  let isShared: Bool

  init(_ delivery: Delivery, isShared: Bool = false) {
    self.delivery = delivery
    self.isShared = isShared
  }

  /// Adds a group with due observers.
  /// - Returns: Whether the caller has to call ``schedule()``.
  func post(_ group: AnyObserverGroup) -> Bool {
    state.withLock { state in
      guard !group.isQueued else { return false }
      group.isQueued = true
      state.pending.append(group)
      defer { state.isScheduled = true }
      return !state.isScheduled
    }
  }

  /// Has the delivery call the due observers. Called without the store's lock, because the delivery may call them at
  /// once.
  func schedule() {
    delivery.run { self.deliverPending() }
  }

  private func deliverPending() {
    while let observerGroups = takePending() {
      for group in observerGroups { group.deliver() }
    }
  }

  private func takePending() -> [AnyObserverGroup]? {
    state.withLock { state in
      guard !state.pending.isEmpty else {
        state.isScheduled = false
        return nil
      }
      let observerGroups = state.pending
      state.pending = []
      // A change from now on needs another delivery, because the present delivery may read the value before the change.
      for group in observerGroups { group.isQueued = false }
      return observerGroups
    }
  }
}

/// The delivery queues of a store.
struct DeliveryQueues {
  /// The queue of observers without a delivery of their own.
  let standard: DeliveryQueue
  /// The queue that delivers on the thread that ends the transaction.
  let immediate = DeliveryQueue(.immediate, isShared: true)
  /// The number of the queues.
  static let count = 2

  init(standard delivery: Delivery) {
    standard = DeliveryQueue(delivery, isShared: true)
  }
}
