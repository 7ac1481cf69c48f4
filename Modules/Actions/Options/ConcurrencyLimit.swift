/// The maximum number of simultaneous actions that share a name, over all queues: for example, of actions that access one
/// host.
///
/// ```swift
/// extension ConcurrencyLimit {
///   static let catalogue = ConcurrencyLimit("catalogue.example.com", 2)
/// }
/// ```
///
/// A limit counts within one Connect. An action takes a slot when it begins an attempt, and releases it at the end of
/// the attempt: an action that waits for its dependencies, for its queue, for the end of a suspension or for its next
/// attempt holds no slot. While the limit has no free slot, later actions of the queue begin first. The first action
/// ready to begin takes a free slot, by priority, then in the order in which the actions asked: an action asks when its
/// dependencies have finished, and again for each further attempt.
///
/// If limits of one name have different maxima, the maximum of the latest action that asked for its first attempt counts.
///
/// An action whose queue is busy lets actions of other queues have the slots. After sixteen later actions of its queue
/// have begun in its place for want of a slot, the next slot is kept for the action. When a running action of the queue
/// begins to wait for another action, which may need the slot, no slot is kept any more, and the count begins anew.
public struct ConcurrencyLimit: Sendable, Hashable {
  /// The name that the limited actions share.
  public let name: String
  /// The maximum number of simultaneous actions; at least one.
  public let maximum: Int

  /// Makes a limit.
  ///
  /// - Parameter maximum: A number below one counts as one.
  public init(_ name: String, _ maximum: Int) {
    self.name = name
    self.maximum = max(1, maximum)
  }
}
