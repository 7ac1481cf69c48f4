/// A record that two writers changed: the present save, and a save committed since the context read the record.
///
/// A record inserted with the unique values of another record is a conflict too, with ``uniqueProperties``:
/// ``ancestor`` is `nil`, ``mine`` has the values of the inserted record, and ``store`` is the row of the other record.
///
/// A value: it may be passed to any thread. The rows are shared buffers; a conflict copies no values.
public struct Conflict: Sendable {
  /// The record, by its permanent identifier.
  public let objectID: ManagedObjectID
  /// The row on which both writers based their changes; `nil` for an inserted record.
  public let ancestor: Row?
  /// The row that the saver wants to write; `nil` when the saver deletes the record.
  public let mine: Row?
  /// The row that the store has; `nil` when another writer deleted the record.
  public let store: Row?
  /// The ordered relationships that the saver changes; empty when the record is deleted in the store. An ordered list
  /// is a value of its owner and a change of the list raises the owner's version, so that rows with equal values may be
  /// in conflict.
  public let lists: [ListConflict]
  /// The properties of the violated uniqueness constraint, for an inserted record with the unique values of another
  /// record; empty for a conflict of two changes of one record.
  public internal(set) var uniqueProperties: [String]

  /// Makes a conflict, for tests of merge policies.
  public init(
    objectID: ManagedObjectID, ancestor: Row?, mine: Row?, store: Row?, lists: [ListConflict] = [],
    uniqueProperties: [String] = []
  ) {
    self.uniqueProperties = uniqueProperties
    self.lists = lists
    self.objectID = objectID
    self.ancestor = ancestor
    self.mine = mine
    self.store = store
  }
}

/// An ordered to-many relationship of a record in conflict, as both writers want it.
public struct ListConflict: Sendable {
  /// The ordered to-many relationship.
  public let relationship: RelationshipDescription
  /// The members, in order, on which the saver based its changes; `nil` when the saver changed members without reading
  /// the list.
  public let ancestor: [ManagedObjectID]?
  /// The members, in order, that the saver wants.
  public let mine: [ManagedObjectID]
  /// The members, in order, that the store has.
  public let store: [ManagedObjectID]

  /// Makes a conflict of a list, for tests of merge policies.
  public init(
    relationship: RelationshipDescription, ancestor: [ManagedObjectID]?, mine: [ManagedObjectID],
    store: [ManagedObjectID]
  ) {
    self.relationship = relationship
    self.ancestor = ancestor
    self.mine = mine
    self.store = store
  }
}
