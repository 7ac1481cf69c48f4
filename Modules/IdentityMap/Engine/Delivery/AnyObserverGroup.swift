/// The observers of one node that are told by the same delivery.
// Sendable because `isQueued` is touched under the mailbox's lock only, and the observations under the store's.
class AnyObserverGroup: @unchecked Sendable {
  let queue: DeliveryQueue
  /// It waits in the mailbox.
  final var isQueued = false

  init(queue: DeliveryQueue) {
    self.queue = queue
  }

  /// Tells the observers the newest value, those that have not been told of it.
  func deliver() {}

  /// How many observers there are. Under the store's lock.
  var count: Int { 0 }

  /// Observers that were told of a version need not be told of a newer one, because its value is the same. Under the
  /// store's lock.
  func skip(from version: UInt32, to newer: UInt32) {}

  /// The observers. Under the store's lock.
  var all: [AnyObservation] { [] }

  /// Takes out an observer that has ended. Under the store's lock.
  func removeEnded(_ observation: AnyObservation) {}
}
