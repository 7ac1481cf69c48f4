public import Foundation

extension Notification {
  /// Posted when an action begins. The object is the ``Connect``, `userInfo` has the proxy under ``Key/ActionProxy``.
  ///
  /// Posted on a queue of the Connect, one notification after the other: an observer that takes long delays later
  /// notifications, events and completion blocks, which come in one order, and no action.
  public static let ActionDidStartExecuting = Notification.Name("Coherence.Connect.ActionDidStartExecuting")

  /// Posted when an action finished, after its start was. State and status are final by then.
  public static let ActionDidFinishExecuting = Notification.Name("Coherence.Connect.ActionDidFinishExecuting")

  /// The keys of `userInfo`.
  public enum Key {
    /// An `any ActionProxy`.
    public static let ActionProxy = "ActionProxy"
  }
}
