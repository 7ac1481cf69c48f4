public import CoherenceCore

/// The kind of a conflict between a pending edit and the server.
public enum OutboxConflictKind: Int16, Sendable, Hashable, CaseIterable, AttributeConvertible {
  /// Both sides changed the same properties.
  case bothChanged = 0
  /// The server deleted the record, and the user changed it.
  case deletedOnServer = 1
  /// The user deleted the record, and the server changed it.
  case deletedLocally = 2
}
