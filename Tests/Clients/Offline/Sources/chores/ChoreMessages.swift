import Foundation

/// A chore as the server has it. Each property has the name of a property of `Chore`.
struct ChoreRecord: Codable, Sendable {
  let id: UUID
  var title: String
  var room: String
  /// Counts the changes, from 1, also across a deletion.
  var revision = 1
}

/// The fields of a chore that an edit changes; `nil` for a field that the edit leaves alone.
struct ChoreFields: Codable, Sendable {
  var title: String?
  var room: String?
}

/// An edit of a chore, with the values on which the edit is based.
struct ChoreEdit: Codable, Sendable {
  enum Kind: String, Codable {
    case insert, update, delete
  }

  let kind: Kind
  let id: UUID
  let base: ChoreFields
  let values: ChoreFields
}

/// The decision of the server about an edit.
enum ChoreAnswer: Codable, Sendable {
  /// The chore after the edit.
  case applied(ChoreRecord)
  case deleted
  /// The chore with the change of another client.
  case conflict(ChoreRecord)
  /// The server has no such chore.
  case unknown
}
