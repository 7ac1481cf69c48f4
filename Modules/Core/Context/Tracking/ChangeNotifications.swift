/// The changes of records that wait for the next notification of a context's observers, and the running notifications.
///
/// Invariant: a tracked record with the present ``round`` is in ``unposted``. So a record is listed once, however often
/// it changes.
///
/// Used by the context's owner alone. The functions in `ContextStorage+Changes.swift` change it, and
/// ``ContextStorage/untrackAll()`` drops the changes that wait.
struct ChangeNotifications {
  /// The changed records that no notification has listed yet. Those with the present ``round`` are not added again.
  var unposted: [PendingRecord] = []
  /// The changes that observers are being notified of, the innermost notification last.
  var delivering: [ChangedObjects] = []
  /// The number of notifications of changes.
  private(set) var postCount: UInt32 = 0
  // Last, beside `recordsUndo` of the storage, because each write reads both.
  /// Raised by each notification of changes, and at the beginning of each block whose changes are collected: a record
  /// with an older number is listed again.
  private(set) var round: UInt32 = 1

  /// Has a change of a listed record list the record again.
  mutating func beginRound() { round &+= 1 }

  /// Counts a notification. A change of a record that it lists belongs to the next notification.
  mutating func notePost() {
    beginRound()
    postCount &+= 1
  }

  /// Adds a record that the present round has not listed.
  mutating func list(_ record: PendingRecord) {
    record.wasListed = record.round != 0
    record.round = round
    unposted.append(record)
  }
}
