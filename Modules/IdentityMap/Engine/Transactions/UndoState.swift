/// The recording of changes for a rollback.
@usableFromInline
struct UndoState {
  /// The log of the running transaction; `nil` when nothing can be rolled back.
  var log: UndoLog? {
    didSet { isRecording = log != nil }
  }
  /// Whether ``log`` exists, in one byte for the fast path of leaves.
  @usableFromInline var isRecording = false
  /// Whether a rollback is restoring nodes.
  var isRollingBack = false
  /// The log of the table whose leaves are recorded now. The last entry of ``log`` is its range.
  @usableFromInline var openLeafLog: AnyLeafUndoLog?
}
