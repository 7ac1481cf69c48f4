/// The treatment of a submission while an equal action, of the same type and ``ActionOptions/uniqueKey``, is unfinished.
/// The policy of the later submission counts.
///
/// Equal actions may differ in properties outside of the key. Make relevant properties a part of the key, or choose a
/// policy with which the later action runs.
public enum EqualActionPolicy: Sendable, Hashable {
  /// The submission joins the equal action, waiting or running, and gets its handle. The later action never runs.
  case join
  /// The submission joins a waiting equal action. Behind a running equal action the later action waits for its success,
  /// failure or cancellation, and then runs. Further submissions join the waiting action.
  case joinPending
  /// The later action replaces the equal action, which is cancelled. The replaced action ends with the status
  /// ``ActionCompletionStatus/canceled`` and the error ``ErrorCode/actionReplaced``; its completion blocks are called, and
  /// its earlier saves are kept. The later action begins after the end of the replaced one, which may ignore its
  /// cancellation: the replaced action never saves over the later one.
  case replace
}
