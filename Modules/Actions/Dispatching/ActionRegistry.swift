import CoherenceCore

/// The unfinished actions of a Connect, their queues, and the settings that decide about a submission.
///
/// The registry has a lock of its own, apart from the lock under which stores are opened and closed, so that a submission
/// never waits for a store.
struct ActionRegistry {
  /// Whether a submitted generic action is queued. Otherwise the action waits for the next start.
  var isOpen = false
  var isSuspended = false
  /// The hierarchies suspended individually, by the name of the root entity.
  var suspendedHierarchies: Set<String> = []
  /// The entities whose actions are accepted.
  private(set) var managed = ManagedEntities()
  /// The entities that accepted actions may merge: the managed entities, or, while a stop waits for accepted actions, the
  /// entities managed before.
  private(set) var mergeable = ManagedEntities()
  /// The queues of hierarchies, by the name of the root entity. A queue outlives the management of its hierarchy:
  /// while earlier actions still run, a hierarchy under new management must not get a second queue.
  private(set) var queues: [String: ActionQueue<AnyActionHandle>] = [:]
  /// Generic actions that wait for the start.
  var waitingForStart = ActionBacklog<AnyActionHandle>()
  let concurrencyGroups: ConcurrencyGroups<AnyActionHandle>
  /// The latest unfinished action of each identity.
  var actionsByIdentity: [ActionIdentity: AnyActionHandle] = [:]

  init(concurrencyGroups: ConcurrencyGroups<AnyActionHandle>) { self.concurrencyGroups = concurrencyGroups }

  /// Accepts the actions of some entities, in place of the entities before.
  mutating func manage(_ managed: ManagedEntities, model: ManagedObjectModel) {
    self.managed = managed
    mergeable = managed
    for name in managed.hierarchies(in: model) where queues[name] == nil {
      queues[name] = ActionQueue(
        name: "connect.queue.entity.\(name.lowercased())", width: 1, isSuspended: isSuspended(hierarchy: name),
        groups: concurrencyGroups)
    }
  }

  func isSuspended(hierarchy name: String) -> Bool { isSuspended || suspendedHierarchies.contains(name) }

  /// Refuses entity actions, and lets generic actions wait for the next start.
  mutating func close() {
    isOpen = false
    managed = ManagedEntities()
  }

  /// Returns the queue of a managed entity.
  ///
  /// - Throws: ``ErrorCode/unmanagedEntity``.
  func queue(for entity: EntityDescription) throws(CoherenceError) -> ActionQueue<AnyActionHandle> {
    guard managed.contains(entity), let queue = queues[entity.root.name] else {
      throw CoherenceError(
        .unmanagedEntity,
        "Entity '\(entity.name)' not managed by Connect: \(entity.reasonOfNoManagement(isStarted: isOpen))")
    }
    return queue
  }
}
