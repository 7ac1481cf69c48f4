public import CoherenceCore

/// The kind of a recorded change.
public enum OutboxEntryKind: Int16, Sendable, Hashable, CaseIterable, AttributeConvertible {
  /// The record was inserted.
  case insert = 0
  /// Values or members of the record changed.
  case update = 1
  /// The record was deleted.
  case delete = 2
}
