import Foundation

/// The request of a client to edit a note.
public enum NoteRequest: Sendable, Hashable {
  case insert(NoteRecord)
  case update(UUID, NoteChange)
  case delete(UUID)
}

/// The decision of the service about an edit.
public enum NoteAnswer: Sendable, Hashable {
  /// The edit was applied. Has the note after the edit.
  case applied(NoteRecord)
  case deleted
  /// The edit was refused, because another client has changed the note. Has the present note.
  case conflict(NoteRecord)
  /// No note has the identifier.
  case unknown
}

/// The counts of a book of notes.
public struct NoteStatistics: Sendable, Hashable {
  /// The number of received edits, including repeated edits.
  public var received = 0
  /// By idempotency key, the number of times that the edit was applied.
  public var applications: [UUID: Int] = [:]
  /// The number of edits with a known idempotency key, which were not applied again.
  public var refusedDuplicates = 0
  /// The number of edits refused because of a conflict.
  public var conflicts = 0
  /// The number of edits that an outage lost before their application.
  public var lost = 0

  /// The number of keys whose edit was applied.
  public var applied: Int { applications.count }
  /// The largest number of times that one edit was applied.
  public var mostApplications: Int { applications.values.max() ?? 0 }
}
