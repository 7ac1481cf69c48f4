public import CoherenceCore

/// The local edits of one record that a merge takes into account, as one change. The server has not confirmed them, or
/// has confirmed them since the request for the merge's input began.
public struct PendingEdit: Sendable {
  /// The change that the server will see.
  public enum Kind: Sendable, Hashable {
    /// The server does not know the record yet.
    case insert
    /// The server knows the record with other values.
    case update
    /// The record is deleted here, and the server still has it.
    case delete
  }

  /// The changed record. A deleted record has no row any more.
  public var recordID: ManagedObjectID
  /// The change that the server will see.
  public var kind: Kind
  /// The names of the changed attributes, parts of composites and relationships. Every property of an insert that
  /// the server does not assign counts as changed, and need not be in the set.
  public var changed: Set<String>
  /// The server's last known values, by the name of an attribute, of a part of a composite, or of a to-one
  /// relationship. A name is missing when the value is not known. A deletion has the values of the record's key at
  /// least.
  public var base: [String: AttributeValue]
  /// The values that the edits have passed through, by property. A server with such a value has got an earlier state of
  /// the edit, and has not changed the property itself. Empty unless the user edited more than once. A deletion has
  /// these values of the edits before it that the server may have applied.
  public var ownValues: [String: Set<AttributeValue>]
  /// The changes of to-many relationships, by name.
  public var members: [String: PendingMembers]
  /// Whether the merge's input decides nothing about the edit. The edit is on its way to the server with an unknown
  /// effect, or its values cannot be read, or the server has confirmed an edit of the record since the request for the
  /// input began. A merge keeps such an edit, and a later merge decides about it.
  public var isBeingSent: Bool
  /// Whether the record's insert was sent, and its reply has not arrived: the server may have the record under a key
  /// unknown to this program. True for inserts, and for deletions of such records.
  public var isInsertUnanswered: Bool
  /// The values that the server had before its reply to edits of the record, by property, if the request for the
  /// merge's input began before the reply: a confirmation, or a conflict. An input with such a value is older than the
  /// reply, so that the record keeps its value; any other value is newer, and is merged.
  public var outdated: [String: Set<AttributeValue>]
  /// Whether the whole edit has ended since the request for the merge's input began: the server has confirmed it, or
  /// has replied with a conflict, now resolved. A record that the input lacks may then be newer than the input,
  /// and is not deleted. A merge keeps a confirmed edit as it keeps an edit with ``isBeingSent``.
  public var isConfirmed: Bool
  /// The conflict over the edit that waits for the user; `nil` without a conflict, or if the conflict is newer than the
  /// request for the merge's input.
  public var conflict: PendingConflict?
  /// The names of the properties whose values the server assigns. They are no part of the edit: a merge writes the
  /// input's values, and none of them is in conflict. A deletion may have their values in ``base``.
  public var serverAssigned: Set<String>
  /// Whether a request with the edit was sent, and no reply has decided over it: the request is on its way, or its
  /// reply was lost.
  package var isUnanswered = false
  /// Whether the edit has the kind `update`, and is the insert of the record, which the server has confirmed since the
  /// request for the input. Lists of other records in the input may be from before the insert.
  package var isConfirmedInsert = false

  /// Makes an edit of a record.
  public init(
    of recordID: ManagedObjectID, _ kind: Kind, changed: Set<String> = [], base: [String: AttributeValue] = [:],
    ownValues: [String: Set<AttributeValue>] = [:], members: [String: PendingMembers] = [:], isBeingSent: Bool = false,
    isInsertUnanswered: Bool = false, outdated: [String: Set<AttributeValue>] = [:], isConfirmed: Bool = false,
    conflict: PendingConflict? = nil, serverAssigned: Set<String> = []
  ) {
    self.recordID = recordID
    self.kind = kind
    self.changed = changed
    self.base = base
    self.ownValues = ownValues
    self.members = members
    self.isBeingSent = isBeingSent
    self.isInsertUnanswered = isInsertUnanswered
    self.outdated = outdated
    self.isConfirmed = isConfirmed
    self.conflict = conflict
    self.serverAssigned = serverAssigned
  }

  /// Whether a merge keeps the edit without a decision about it; see ``isBeingSent`` and ``isConfirmed``.
  var isFixed: Bool { isBeingSent || isConfirmed }

  /// Whether a reply to the edit is still to come. The merge's input may be newer than this reply, which then replaces
  /// values of the input by older ones, so that the merge postpones the input record.
  var awaitsReply: Bool { isBeingSent && !isConfirmed || isUnanswered || isInsertUnanswered }

  /// Whether the edit changed an attribute, a part of a composite or a to-one relationship.
  func includes(_ name: String) -> Bool {
    (kind == .insert || changed.contains(name)) && !serverAssigned.contains(name)
  }
}
