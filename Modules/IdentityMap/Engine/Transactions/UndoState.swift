/// Whether and where changes are recorded, so that a transaction can be rolled back.
@usableFromInline
struct UndoState {
  /// The log of the running transaction; `nil` when nothing can be rolled back.
  var log: UndoLog? {
    didSet { isRecording = log != nil }
  }
  /// Whether ``log`` exists, in one byte for the short path of leaves.
  @usableFromInline var isRecording = false
  /// Whether a rollback is restoring nodes.
  var isRollingBack = false
  /// The log of a table that takes the leaves which are recorded next. The last entry of ``log`` is its range.
  @usableFromInline var openLeafLog: AnyLeafUndoLog?
}
