/// The treatment of an action that is submitted while an equal one, of its type and with its
/// ``ActionOptions/uniqueKey``, is unfinished. The policy of the later submission counts.
///
/// Only type and key make actions equal: their other properties may differ. Let them be part of the key, or choose a
/// policy with which the later action runs.
public enum EqualActionPolicy: Sendable, Hashable {
  /// The submission joins the equal action, waiting or running, and returns its handle. The later action never runs.
  case join
  /// The submission joins an equal action that waits. While the equal action runs, with arguments read before, the later
  /// action waits for its end, however it ends, and then runs; submissions in the meantime join the one that waits.
  case joinPending
  /// The latest action wins. An equal action that waits never runs, and one that runs is canceled. It ends with the status
  /// ``ActionCompletionStatus/canceled`` and the error ``ErrorCode/actionReplaced``, its completion blocks are called, and
  /// what it saved stays saved. The later action begins when the replaced one has ended, so that the replaced one saves
  /// nothing afterwards; where the replaced one ignores its cancellation, it waits for that long.
  case replace
}
