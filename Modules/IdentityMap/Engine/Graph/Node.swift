/// A vertex of the graph: an observable value, which may be composed of the values of other nodes.
///
/// Nodes are changed under the store's lock only, and read under the lock or in a shared read, which ends before a
/// thread gets the lock. So accesses never conflict. Checking that at run time would cost more than the accesses,
/// hence the unchecked properties.
///
/// The store owns the nodes and the links do not retain them: a node without a reason to be retained is evicted and
/// unlinked. So cycles of entities are no reference cycles.
@usableFromInline
class Node {
  /// The core, which outlives its nodes: a ``Handle`` retains the node from outside, and the core with it.
  @usableFromInline unowned(unsafe) final let core: StoreCore
  /// The links and the rarer state; `nil` until the first use, as in a leaf without observers, aggregates and a
  /// lifetime.
  @exclusivity(unchecked) @usableFromInline final private(set) var relations: Relations?
  /// The stamp of the value; not a number for a value without a stamp.
  @exclusivity(unchecked) @usableFromInline final var stamp = Stamp.nan
  // Fields that every search reads come last, beside the value: one cache miss fetches both.
  /// The handle that retains the node from outside, possibly in deallocation; see ``Handle``.
  @exclusivity(unchecked) final var handle: Unmanaged<Handle>?
  /// Advanced by each change of the value, and when the value becomes dirty.
  @exclusivity(unchecked) @usableFromInline final var version: UInt32 = 0
  @exclusivity(unchecked) @usableFromInline final var flags: NodeFlags = []
  /// The number of handles: the current one and those in deallocation.
  @exclusivity(unchecked) final var handles: UInt16 = 0

  @inlinable init(core: StoreCore) {
    self.core = core
  }

  /// Writes the current values of the children into the value.
  @usableFromInline func rebuild() {}

  /// Removes the node from the store's tables at its eviction.
  @usableFromInline func removeFromTable() {}

  /// Removes a child from the value.
  /// - Returns: Whether the node has to be removed too, because its value requires the child.
  @usableFromInline func remove(_ child: Node) -> Bool { false }

  /// Removes several children from the value together, if the value is as after the removal of one child after the
  /// other. Otherwise, changes nothing.
  @usableFromInline func removeAll(_ children: Set<ObjectIdentifier>) {}

  /// Makes the node a candidate of the queries over its type.
  /// - Parameter isReported: Whether observers are notified of a change that moves no member of a result.
  @usableFromInline func notifyQueries(isReported: Bool) {}

  /// The node's position among notifications: greater than that of all its children.
  @usableFromInline var notificationOrder: Int32 { relations?.height ?? 0 }

  /// Whether observers are only notified between transactions, so that they never see a part of one.
  @usableFromInline var notifiesBetweenTransactions: Bool { false }

  /// Whether a shared read may read the value: it is up to date, and reading changes no state.
  @usableFromInline var isReadable: Bool { false }

  /// Returns a closure that restores the current state of the node.
  @usableFromInline func makeRestoration() -> () -> Void { {} }

  /// The description of the node in diagnostics.
  @usableFromInline var label: String { "node" }
}

extension Node {
  /// Returns the relations, and makes them if necessary.
  final func makeRelations() -> Relations {
    if let relations { return relations }
    let made = Relations()
    relations = made
    flags.insert(.hasRelations)
    return made
  }

  /// Records that the value is another one, so that observers of former versions are due.
  final func advanceVersion() {
    if core.undo.isRecording { core.noteVersion(of: self) }
    version &+= 1
  }

  /// Ends the process if the node is being rebuilt: a change would replace the children while they are written into the
  /// value. Only a setter of the value can attempt such a change.
  final func requireNotRebuilding() {
    // A precondition would lose its message in release builds.
    if flags.contains(.rebuilding) {
      fatalError("\(label) was changed while it was being made up to date, by a setter of its own.")
    }
  }

  /// Whether a handle, or a reason inside the store other than a parent, retains the node.
  final var isRetained: Bool {
    if handles > 0 { return true }
    guard let relations else { return false }
    return relations.internalRetainCount > 0
  }

  /// Whether the node has no visible entity: the entity was never stored, was removed, or is tentatively removed.
  final var isAbsent: Bool { flags.contains(.absent) }

  /// Whether the entity is absent and no rollback of an optimistic change can restore it.
  final var isRemoved: Bool { isAbsent && !flags.contains(.tentativelyRemoved) }

  final var hasParents: Bool {
    guard let relations else { return false }
    return !relations.parents.isEmpty
  }

  /// Whether an observer or a query follows the value.
  final var isObservedOrQueried: Bool {
    if flags.contains(.queried) { return true }
    guard let relations else { return false }
    return relations.hasObservers
  }

  /// Whether a stamp is too old, or not a number. Of two values with the same stamp in one transaction, the later
  /// counts.
  final func rejects(_ stamp: Stamp) -> Bool {
    if stamp.isNaN { return true }
    if self.stamp.isNaN || stamp > self.stamp { return false }
    return stamp != self.stamp || !flags.contains(.stamped)
  }

  /// Sets the stamp of a stored value.
  final func setStamp(_ stamp: Stamp?) {
    guard let stamp, !stamp.isNaN else { return }
    self.stamp = stamp
    core.pending.addStamped(self)
  }

  /// Counts a reason inside the store to retain the node: the content of an alias, or the lifetime of an entity's type.
  final func retainInternally() {
    makeRelations().internalRetainCount += 1
  }

  /// Ends a reason inside the store to retain the node; see ``retainInternally()``.
  final func releaseInternally() {
    guard let relations else { return }
    relations.internalRetainCount -= 1
    core.pending.addEvictionCandidate(self)
  }
}
