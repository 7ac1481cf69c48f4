public import CoherenceCore
public import Foundation

/// The change of one record by one save, as the outbox keeps the change until a server has accepted it.
///
/// A value: a copy of the entry at the time of reading. May be passed to any thread.
public struct OutboxEntry: Sendable, Identifiable {
  /// The kind of the change.
  public typealias Kind = OutboxEntryKind
  /// The state of sending.
  public typealias State = OutboxEntryState

  /// The identifier of the entry. `PersistentStoreCoordinator.objectID(forDescription:)` makes the identifier again
  /// from its text.
  public let id: ManagedObjectID
  /// The identifier of the changed record, whether or not the record still exists; `nil` when the model has no entity
  /// for the record any more, or has moved the entity to another store.
  public let recordID: ManagedObjectID?
  /// The changed record.
  public let record: OutboxRecord
  /// The name of the record's entity in the present model: the recorded name, or the new name after a migration renamed
  /// the entity.
  public let entityName: String
  /// The name of the record's entity when the change was recorded.
  public let recordedEntityName: String
  /// Whether the model still has the entity.
  public let isEntityKnown: Bool
  /// The position of the entry in the order of all entries: microseconds since 1970, raised where the clock stood still
  /// or was set back.
  public let sequence: Int64
  /// The number of the save, the same for all its entries: the greatest sequence that the save reserved.
  public let transaction: Int64
  /// The version of the record after the save, which orders the entries of one record.
  public let recordVersion: Int64
  /// The kind of the change.
  public let kind: Kind
  /// The key by which a server recognizes a request that it has already applied.
  public let idempotencyKey: UUID
  /// The `transactionAuthor` of the context that saved.
  public let author: String?
  /// The time of the save by the clock of the device.
  public let enqueuedDate: Date
  /// The state of sending.
  public var state: State
  /// The number of attempts to send the entry; zero again after ``Outbox/retry(_:)``.
  public let attempts: Int
  /// The earliest time of the next attempt; `nil` when the next attempt may begin at any time.
  public let nextAttemptDate: Date?
  /// The error of the last attempt, without values: the `logDescription` of a `LoggableError`, or else the name of the
  /// error's type.
  public let lastError: String?
  /// Whether the server refused the entry. The server has certainly not applied a refused change.
  public let isRejected: Bool
  /// The sequence of the last entry that a request with this entry's ``idempotencyKey`` includes; `nil` before the
  /// first attempt.
  public let groupEnd: Int64?
  /// The end of the present or last claim, until which no other process sends the entry; `nil` for an unclaimed entry.
  public let leaseEnd: Date?
  /// The name of the forwarder that sends the entry: a random text, new at each start of an outbox. `nil` for an
  /// unclaimed entry.
  public let claimant: String?
  /// The identifying values of the record: the values before an update or a delete, the values of the new record for an
  /// insert.
  public let identity: [String: AttributeValue]
  /// The attributes and to-one relationships: all of them for an insert, the changed ones for an update, all former
  /// values for a delete. Only a delete has the server-assigned ones. Derived attributes are left out, unless they
  /// identify the record.
  public internal(set) var changes: [OutboxChange]
  /// The to-many relationships with added, removed or reordered members, without the server-assigned ones. A
  /// relationship whose links the entries of other records describe is among them only if the save moved its members.
  public internal(set) var members: [OutboxMembers]
  /// Whether the values could be read. False for an entry that a later release wrote, and for a damaged entry. An
  /// unreadable entry of an unknown entity may stand for a whole save, see ``Outbox/entries(in:state:limit:after:)``.
  public internal(set) var isReadable: Bool

  /// The change of a property by its present name; `nil` when the entry does not have the property. The cost grows with
  /// the number of changes.
  public subscript(name: String) -> OutboxChange? { changes.first { $0.name == name } }

  /// Whether this copy of the entry lacks large values; see ``OutboxValue/omitted(byteCount:)``.
  public var hasOmittedValues: Bool { changes.contains(where: \.hasOmittedValue) }

  /// The recorded names of the properties that the model does not have any more, in the order of the entry.
  public var unknownProperties: [String] {
    changes.filter { !$0.isKnown }.map(\.recordedName) + members.filter { !$0.isKnown }.map(\.recordedName)
  }
}

extension OutboxEntry {
  /// The same entry, with the values of a copy that does not lack large values. The state of sending is that of this
  /// entry, which may be from before the claim.
  func withValues(of copy: OutboxEntry) -> OutboxEntry {
    var entry = self
    entry.changes = copy.changes
    entry.members = copy.members
    entry.isReadable = copy.isReadable
    return entry
  }

  /// Orders the entries of one record by the record's saves, and the entries of one save as the save recorded them.
  func precedes(_ other: OutboxEntry) -> Bool {
    (recordVersion, sequence, id.key) < (other.recordVersion, other.sequence, other.id.key)
  }
}
