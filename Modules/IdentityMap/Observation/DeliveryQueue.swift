import Synchronization

/// What waits to be delivered by one delivery. It is emptied by one at a time, so that order holds everywhere.
final class DeliveryQueue: Sendable {
  private struct State {
    var pending: [AnyObserverGroup] = []
    /// Somebody empties it, or is on the way to.
    var isServed = false
  }

  private let delivery: Delivery
  private let state = Mutex(State())

  init(_ delivery: Delivery) {
    self.delivery = delivery
  }

  /// Takes in an audience that has something to be told.
  /// - Returns: Whether somebody has to be sent to empty the mailbox, by ``schedule()``.
  func post(_ audience: AnyObserverGroup) -> Bool {
    state.withLock { state in
      guard !audience.isPosted else { return false }
      audience.isPosted = true
      state.pending.append(audience)
      defer { state.isServed = true }
      return !state.isServed
    }
  }

  func schedule() {
    delivery.run { self.empty() }
  }

  private func empty() {
    while let audiences = take() {
      for audience in audiences { audience.deliver() }
    }
  }

  private func take() -> [AnyObserverGroup]? {
    state.withLock { state in
      guard !state.pending.isEmpty else {
        state.isServed = false
        return nil
      }
      let audiences = state.pending
      state.pending = []
      // A change from now on is another one.
      for audience in audiences { audience.isPosted = false }
      return audiences
    }
  }
}

/// The mailboxes of a store.
struct DeliveryQueues {
  /// For observers that ask for nothing else.
  let standard: DeliveryQueue
  /// On the thread that ends the transaction.
  let immediate = DeliveryQueue(.immediate)

  init(standard delivery: Delivery) {
    standard = DeliveryQueue(delivery)
  }
}
