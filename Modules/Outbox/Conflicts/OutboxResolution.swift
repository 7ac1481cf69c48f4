public import CoherenceCore

/// The decision of a user over an ``OutboxConflict``.
public enum OutboxResolution: Sendable {
  /// The edit wins, and is sent. A record that the server has deleted is sent as a new record; a record that was deleted
  /// here is deleted there too.
  case local
  /// The server wins. The record gets the server's values, and is deleted or restored as on the server; the edits in
  /// conflict are not sent.
  case server
  /// Properties get the given values, here and on the server; the other properties in conflict keep the edit. A record that
  /// either side has deleted is restored on that side with these values.
  case values([String: any AttributeConvertible & Sendable])
}
