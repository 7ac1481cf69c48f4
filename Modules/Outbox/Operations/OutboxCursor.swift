import CoherenceCore

/// The position of an entry in the order of all entries. A list of entries continues after a cursor.
public struct OutboxCursor: Sendable, Hashable, Codable {
  /// The sequence of the entry.
  let sequence: Int64
  /// The key of the entry, for entries of two processes with the same sequence.
  let key: Int64
  /// The store of the entry, for entries of two stores with the same sequence.
  let store: String
}

extension OutboxCursor: Comparable {
  public static func < (left: OutboxCursor, right: OutboxCursor) -> Bool {
    (left.sequence, left.key, left.store) < (right.sequence, right.key, right.store)
  }
}

extension OutboxEntry {
  /// The position of the entry in the order of all entries, for ``Outbox/entries(in:state:limit:after:)``.
  public var cursor: OutboxCursor {
    OutboxCursor(sequence: sequence, key: id.key, store: id.storeIdentifier?.rawValue ?? "")
  }
}
