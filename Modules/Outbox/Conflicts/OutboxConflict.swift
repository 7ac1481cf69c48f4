public import CoherenceCore
public import Foundation

/// A contradiction between a pending edit and a change by the server, which a user resolves.
///
/// A value: a copy of the conflict at the time of reading. May be passed to any thread.
public struct OutboxConflict: Sendable, Identifiable {
  /// The kind of the conflict.
  public typealias Kind = OutboxConflictKind

  /// The identifier of the conflict, for ``Outbox/resolve(_:keeping:)``.
  /// `PersistentStoreCoordinator.objectID(forDescription:)` makes the identifier again from its text.
  public let id: ManagedObjectID
  /// The identifier of the record, whether or not the record still exists; `nil` when the model has no entity for the
  /// record any more, or has moved the entity to another store.
  public let recordID: ManagedObjectID?
  /// The name of the record's entity at the time of the conflict.
  public let entityName: String
  /// The kind of the conflict.
  public let kind: Kind
  /// The time at which a merge or a reply of the server found the conflict, or last changed the server's values in it.
  public let detectedDate: Date
  /// The attributes and to-one relationships with changes on both sides, in the order of their names. Empty for a record
  /// that the server deleted.
  public let properties: [OutboxConflictProperty]
}
