import CoherenceCore

/// What a Connect decides by when an action is submitted. Kept apart from the slow work of opening and closing stores,
/// so that submitting never waits for it.
struct ConnectState {
  var isStarted = false
  var isSuspended = false
  private(set) var managed = ManagedEntities()
  /// The queues of the managed hierarchies, by the name of the root entity.
  private(set) var queues: [String: ActionQueue] = [:]

  /// Takes over what is managed now. Queues of hierarchies that are managed still stay as they are.
  ///
  /// - Returns: The queues that are out of use.
  mutating func manage(_ managed: ManagedEntities, model: ManagedObjectModel) -> [ActionQueue] {
    self.managed = managed
    let hierarchies = managed.hierarchies(in: model)
    let unused = queues.filter { !hierarchies.contains($0.key) }
    for name in unused.keys { queues[name] = nil }
    for name in hierarchies where queues[name] == nil {
      queues[name] = ActionQueue(
        name: "connect.queue.entity.\(name.lowercased())", width: 1, isSuspended: isSuspended)
    }
    return Array(unused.values)
  }

  func queue(for entity: EntityDescription) -> ActionQueue? {
    managed.contains(entity) ? queues[entity.root.name] : nil
  }
}
