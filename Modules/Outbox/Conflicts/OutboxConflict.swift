public import CoherenceCore
public import Foundation

/// A pending edit and a change by the server that a user has to decide between.
///
/// A value: a copy of the conflict at the time of reading. May be passed to any thread.
public struct OutboxConflict: Sendable, Identifiable {
  /// The kind of the conflict.
  public typealias Kind = OutboxConflictKind

  /// The identifier of the conflict, for ``Outbox/resolve(_:keeping:)``. Its text leads back to the conflict, see
  /// `PersistentStoreCoordinator.objectID(forDescription:)`.
  public let id: ManagedObjectID
  /// The identifier of the record, whether or not the record still exists; `nil` when the model has no entity for the
  /// record any more.
  public let recordID: ManagedObjectID?
  /// The name of the record's entity at the time of the conflict.
  public let entityName: String
  /// The kind of the conflict.
  public let kind: Kind
  /// The time of the first merge or answer that found the conflict.
  public let detectedDate: Date
  /// The properties that both sides changed, by name. Empty for a record that the server deleted.
  public let properties: [OutboxConflictProperty]
}
