/// A record that two writers changed.
public struct Conflict: Sendable {
  public let objectID: ManagedObjectID
  /// The state that both started from; `nil` when the saver never saw one.
  public let ancestor: Row?
  /// The state that the saver wants; `nil` when it wants to delete the record.
  public let mine: Row?
  /// The state that the store has; `nil` when the record was deleted there.
  public let store: Row?

  public init(objectID: ManagedObjectID, ancestor: Row?, mine: Row?, store: Row?) {
    self.objectID = objectID
    self.ancestor = ancestor
    self.mine = mine
    self.store = store
  }
}
