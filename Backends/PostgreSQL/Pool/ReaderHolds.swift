import CoherenceCore

/// The ``StateHold``s of the readers with a connection, with the threads that read, over the pools of all stores.
///
/// Two threads that each keep a reader in its state, in one store, and then read the other store could wait for each
/// other. Neither pool alone can detect this deadlock. So a pool asks here whether the calling thread keeps a state of
/// any store, and then gives it a further connection at once.
final class ReaderHolds: Sendable {
  static let all = ReaderHolds()

  private struct Entry {
    let thread: UInt
    let hold: StateHold
  }
  private let entries = Locked<[ObjectIdentifier: Entry]>([:])

  /// Adds the hold of a reader that the calling thread uses. A reader without a hold is left out.
  func insert(_ reader: PostgreSQLReader) {
    guard let hold = reader.hold else { return }
    let entry = Entry(thread: callingThread, hold: hold)
    entries.withLock { $0[ObjectIdentifier(reader)] = entry }
  }

  /// Removes the hold of a reader that has no connection any more.
  func remove(_ reader: ObjectIdentifier) { entries.withLock { $0[reader] = nil } }

  /// Whether a reader of the calling thread keeps a state of any store that it cannot release.
  var isAnyTakenByCaller: Bool {
    let caller = callingThread
    return entries.withLock { $0.values.contains { $0.thread == caller && !$0.hold.isFree } }
  }
}
