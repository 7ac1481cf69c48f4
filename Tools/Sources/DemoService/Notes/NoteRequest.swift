import Foundation

/// An edit of a note as the service receives it.
public enum NoteRequest: Sendable, Hashable {
  case insert(NoteRecord)
  case update(UUID, NoteChange)
  case delete(UUID)
}

/// The decision of the service about an edit.
public enum NoteAnswer: Sendable, Hashable {
  /// The note as it is after the edit.
  case applied(NoteRecord)
  case deleted
  /// The note as it is, because another client has changed it.
  case conflict(NoteRecord)
  /// No note has the identifier.
  case unknown
}

/// The counts of a book of notes.
public struct NoteStatistics: Sendable, Hashable {
  /// The number of edits that arrived, repeated ones included.
  public var received = 0
  /// The number of times that the edit with an idempotency key was applied.
  public var applications: [UUID: Int] = [:]
  /// The number of edits with a known idempotency key, which were not applied again.
  public var refusedDuplicates = 0
  /// The number of edits that were refused with the note of another client.
  public var conflicts = 0
  /// The number of edits that were lost on their way.
  public var lost = 0

  /// The number of keys whose edit was applied.
  public var applied: Int { applications.count }
  /// The largest number of times that one edit was applied.
  public var mostApplications: Int { applications.values.max() ?? 0 }
}
