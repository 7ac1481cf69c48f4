public import CoherenceCore

/// The decision of a user over an ``OutboxConflict``.
public enum OutboxResolution: Sendable {
  /// The edit wins, and is sent. A record that the server has deleted is sent as a new record. The deletion of a record
  /// that the server has changed is sent, so that the server deletes the record too.
  case local
  /// The server wins. The record gets the server's values; it is deleted if the server has deleted it, and restored if
  /// the server still has it. The edits in conflict are not sent.
  ///
  /// A property in conflict that the server has not reported regains the value on which the edit is based, the last
  /// value that the server is known to have had; the next page corrects it. A property without a known base keeps the
  /// edited value until the next page. So do the order of the members of a to-many relationship, and a one-to-one
  /// relationship whose former partner another record has got since. Added members of a to-many relationship in conflict
  /// leave, and removed members come back.
  case server
  /// The given properties get the given values, in the local record and on the server; the other properties in conflict
  /// keep the edit. A record that either side has deleted is restored on that side with these values.
  case values([String: any AttributeConvertible & Sendable])
}
