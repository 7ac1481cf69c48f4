public import Foundation

extension Notification {
  /// Posted when the first attempt of an action has started, and directly before the end of an action that never runs.
  /// The object is the ``Connect``; `userInfo` has the proxy under ``Key/ActionProxy``.
  ///
  /// Posted on a queue of the Connect, one notification after the other. A slow observer delays later notifications,
  /// events and completion blocks, which keep their order, and delays no action.
  public static let ActionDidStartExecuting = Notification.Name("Coherence.Connect.ActionDidStartExecuting")

  /// Posted when an action has finished, after the notification of its start. State, status, error and statistics are
  /// final.
  public static let ActionDidFinishExecuting = Notification.Name("Coherence.Connect.ActionDidFinishExecuting")

  /// The keys of `userInfo`.
  public enum Key {
    /// The key of the action's proxy, an `any ActionProxy`.
    public static let ActionProxy = "ActionProxy"
  }
}
