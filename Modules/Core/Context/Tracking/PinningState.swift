/// The state of a context's pinned snapshot besides the snapshot's readers, which are in the ``ReadLease``.
///
/// Invariant: a snapshot is either pinned in the lease, or ``suspended`` by a running write, or neither.
///
/// Used by the context's owner alone.
struct PinningState {
  /// The pinned snapshot that a running write of the context has ended, to be pinned again after the write.
  var suspended: SnapshotPin?
  /// The scheduled check of the pinned snapshot; `nil` without one.
  var watch: SnapshotWatch?
}
