import Foundation

// The messages about notes between the demo's server and its client, as JSON.

/// A note about a package. The device that writes a note chooses its identifier.
public struct NoteRecord: Codable, Sendable, Hashable, Identifiable {
  public var id: UUID
  public var packageName: String
  public var text: String
  /// From 0 to 5.
  public var stars: Int
  /// The number of changes of the note at the service, including the insert.
  public var revision: Int

  public init(id: UUID, packageName: String, text: String, stars: Int, revision: Int = 1) {
    self.id = id
    self.packageName = packageName
    self.text = text
    self.stars = stars
    self.revision = revision
  }
}

/// All notes, sorted by identifier.
public struct NoteList: Codable, Sendable, Equatable {
  public var notes: [NoteRecord]

  public init(notes: [NoteRecord]) { self.notes = notes }
}

/// The fields of a note that a request changes. Absent fields keep their values.
public struct NoteFields: Codable, Sendable, Hashable {
  public var text: String?
  public var stars: Int?

  public init(text: String? = nil, stars: Int? = nil) {
    self.text = text
    self.stars = stars
  }
}

/// A change of a note, with the values on which the change is based. The service refuses the change if another client
/// has changed a field in the meantime.
public struct NoteChange: Codable, Sendable, Hashable {
  public var base: NoteFields
  public var values: NoteFields

  public init(base: NoteFields, values: NoteFields) {
    self.base = base
    self.values = values
  }
}
