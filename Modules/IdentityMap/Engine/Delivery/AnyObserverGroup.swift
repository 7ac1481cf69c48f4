/// The observers of one node with the same delivery queue.
// Sendable because `isQueued` is touched under the queue's lock only, and the other state under the store's.
class AnyObserverGroup: @unchecked Sendable {
  let queue: DeliveryQueue
  /// Whether the group is in the queue.
  final var isQueued = false
  /// The index among the groups of the node. Under the store's lock.
  final var index = 0

  init(queue: DeliveryQueue) {
    self.queue = queue
  }

  /// Calls the due observers with the newest value.
  func deliver() {}

  /// The number of observers. Under the store's lock.
  var count: Int { 0 }

  /// Marks a newer version as delivered to the observers that received the older version last. Both versions have the
  /// same value, so that no delivery repeats the value. Under the store's lock.
  func skip(from version: UInt32, to newer: UInt32) {}

  /// The observers. Under the store's lock.
  var all: [AnyObservation] { [] }

  /// Removes an ended observer. Under the store's lock.
  func removeEnded(_ observation: AnyObservation) {}
}
