import CoherenceCore

/// A record in its store. Records of two stores may have the same key.
struct StoredRecord: Sendable, Hashable {
  /// The store; `nil` for an unsaved record.
  let store: StoreIdentifier?
  let record: OutboxRecord
}
