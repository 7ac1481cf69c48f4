/// The scheduled check whether a pinned snapshot is still in use. A class for its identity.
final class SnapshotWatch: Sendable {
  /// The limit of the snapshot for which the check was scheduled.
  let limit: Duration
  /// The timer of the check, which ends with the release of the watch.
  let timer = ReleasableTimer()

  init(limit: Duration) { self.limit = limit }
}

/// A snapshot of the stores that a context keeps across its units of work. Used inside the context.
///
/// A class, so that a lease without a snapshot has one word for it.
final class SnapshotPin {
  /// The reason why a pinned snapshot has no readers any more.
  enum Failure {
    /// No read happened for the limit.
    case unread(Duration)
    /// A write of the context took the readers' connections.
    case endedByWrite
    /// The present state could not be pinned after a write, or in place of an earlier state.
    case notMoved(any Error)

    var error: CoherenceError {
      let reason =
        switch self {
        case .unread(let limit): "was not read for \(limit), and has released its connections"
        case .endedByWrite: "ended with a write of the context"
        case .notMoved: "has lost its state, because the present state of a store could not be pinned"
        }
      var error = CoherenceError(
        .snapshotExpired,
        "The pinned snapshot of the context \(reason); call `advanceSnapshot()` to pin the present state, or "
          + "`unpinSnapshot()` to read without a pinned snapshot.")
      if case .notMoved(let cause) = self { error.underlying = cause }
      return error
    }
  }

  /// The time after which the snapshot expires without a read.
  let unreadLimit: Duration
  var lastRead = ContinuousClock.now
  private(set) var failure: Failure?
  /// The stores whose readers have ended, because the stores were detached.
  var detached: Set<StoreIdentifier> = []

  init(unreadLimit: Duration) { self.unreadLimit = unreadLimit }

  func fail(_ reason: Failure) { failure = failure ?? reason }

  /// Checks that a store can keep a snapshot.
  ///
  /// - Throws: ``ErrorCode/unsupported`` for a store whose saves would wait for the end of the snapshot.
  static func checkCapabilities(of store: any PersistentStore) throws(CoherenceError) {
    guard !store.capabilities.contains(.concurrentReads) else { return }
    throw CoherenceError(
      .unsupported,
      "A store of the type '\(store.type.name)' cannot keep a state while others save, so that no snapshot of it can be "
        + "pinned; read with `withSnapshot` in one block.")
  }

  /// The error of a read of a store that was detached and attached again under the pinned snapshot.
  static var attachedAgain: CoherenceError {
    CoherenceError(
      .storeDetached,
      "A store was detached and attached again after the context pinned a snapshot; call `advanceSnapshot()` to pin the "
        + "present state of the attached store.")
  }
}
