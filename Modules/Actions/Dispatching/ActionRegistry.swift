import CoherenceCore

/// What a Connect decides by when an action is submitted. Kept apart from the slow work of opening and closing stores,
/// so that submitting never waits for it.
struct ActionDesk {
  /// Whether generic actions run; otherwise they wait for the start.
  var isOpen = false
  var isSuspended = false
  /// The hierarchies suspended by themselves, by the name of the root entity.
  var suspendedHierarchies: Set<String> = []
  /// The entities that actions are accepted for.
  private(set) var managed = ManagedEntities()
  /// The entities that the accepted actions may merge: those above, or, while these actions are drained, the entities
  /// managed before.
  private(set) var served = ManagedEntities()
  /// The queues of hierarchies, by the name of the root entity. A queue stays when its hierarchy is not managed any
  /// more, so that a hierarchy never has two, while actions of the former still run.
  private(set) var queues: [String: ActionQueue] = [:]
  /// Actions that wait for the start.
  var unstarted = ActionBacklog()
  var groups = ActionGroups()
  /// The unfinished actions that others can be equal to.
  var unique: [ActionIdentity: AnyActionHandle] = [:]

  mutating func manage(_ managed: ManagedEntities, model: ManagedObjectModel) {
    self.managed = managed
    served = managed
    for name in managed.hierarchies(in: model) where queues[name] == nil {
      queues[name] = ActionQueue(
        name: "connect.queue.entity.\(name.lowercased())", width: 1, isSuspended: isSuspended(hierarchy: name))
    }
  }

  func isSuspended(hierarchy name: String) -> Bool { isSuspended || suspendedHierarchies.contains(name) }

  /// Accepts nothing any more.
  mutating func close() {
    isOpen = false
    managed = ManagedEntities()
  }

  func queue(for entity: EntityDescription) throws(CoherenceError) -> ActionQueue {
    guard managed.contains(entity), let queue = queues[entity.root.name] else {
      throw CoherenceError(.unmanagedEntity, "Entity '\(entity.name)' not managed by Connect")
    }
    return queue
  }
}
