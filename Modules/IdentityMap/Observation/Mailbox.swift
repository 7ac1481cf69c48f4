import Synchronization

/// What waits to be delivered by one delivery. It is emptied by one at a time, so that order holds everywhere.
final class Mailbox: Sendable {
  private struct State {
    var pending: [AnyAudience] = []
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
  func post(_ audience: AnyAudience) -> Bool {
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

  private func take() -> [AnyAudience]? {
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
struct MailboxDirectory {
  /// For observers that ask for nothing else.
  let standard: Mailbox
  /// On the thread that ends the transaction.
  let immediate = Mailbox(.immediate)

  init(standard delivery: Delivery) {
    standard = Mailbox(delivery)
  }
}
