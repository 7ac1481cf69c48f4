/// An ordered to-many relationship of a record that two writers changed.
public struct ListConflict: Sendable {
  public let relationship: RelationshipDescription
  /// The members, in order, that the saver started from; `nil` when it changed members without reading the list.
  public let ancestor: [ManagedObjectID]?
  /// The members, in order, that the saver wants.
  public let mine: [ManagedObjectID]
  /// The members, in order, that the store has.
  public let store: [ManagedObjectID]

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

extension Conflict {
  /// The store's values with the saver's changes on top; `nil` if both have changed one of the properties, or the
  /// saver changes an order.
  ///
  /// - Parameter changed: The slots that the saver changed.
  func mergedProperties(_ changed: SlotSet) -> [AttributeValue]? {
    guard let ancestor, let mine, let store, lists.isEmpty else { return nil }
    var values = store.values
    for slot in changed {
      if case .position = mine.entity.slots[slot] { return nil }
      guard store[slot] == ancestor[slot] || store[slot] == mine[slot] else { return nil }
      values[slot] = mine[slot]
    }
    return values
  }
}

/// A record that two writers changed.
public struct Conflict: Sendable {
  public let objectID: ManagedObjectID
  /// The state that both started from; `nil` when the saver never saw one.
  public let ancestor: Row?
  /// The state that the saver wants; `nil` when it wants to delete the record.
  public let mine: Row?
  /// The state that the store has; `nil` when the record was deleted there.
  public let store: Row?
  /// The ordered relationships that the saver changes; empty for a deleted record. An ordered list is a value of its
  /// owner, so changing it raises the owner's version, and rows that differ in nothing else may be in conflict.
  public let lists: [ListConflict]

  public init(objectID: ManagedObjectID, ancestor: Row?, mine: Row?, store: Row?, lists: [ListConflict] = []) {
    self.lists = lists
    self.objectID = objectID
    self.ancestor = ancestor
    self.mine = mine
    self.store = store
  }
}
