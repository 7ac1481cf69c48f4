/// A vertex of the graph: something with a value that can be made of the values of others, be watched, and be held.
///
/// Nodes are touched under the store's lock only, each access is over before the next begins, and checking that at run
/// time would take more time than the accesses: hence the unchecked properties. They belong to the store: a link
/// between nodes does not keep its ends alive, the store takes a node away when nothing needs it any more, and unlinks
/// it then. So circles of entities are no circles of references.
@usableFromInline
class Node {
  /// Outlives its nodes: whoever holds a node from outside does it with a ``Handle``, which keeps the core.
  @usableFromInline unowned(unsafe) final let core: StoreCore
  /// What only some nodes have; leaves that nobody watches and nothing contains do without.
  @exclusivity(unchecked) @usableFromInline final private(set) var relations: Relations?
  /// The freshness of the value; not a number when it has no stamp.
  @exclusivity(unchecked) @usableFromInline final var stamp = Stamp.nan
  // What is asked of every node that is found comes last, beside the value: the memory of both is fetched at once.
  /// What keeps the node from outside, if anything does. It may be on its way out; see ``Handle``.
  @exclusivity(unchecked) final var handle: Unmanaged<Handle>?
  /// Grows with each change of the value, and when the value has become out of date.
  @exclusivity(unchecked) @usableFromInline final var version: UInt32 = 0
  @exclusivity(unchecked) @usableFromInline final var flags: NodeFlags = []
  /// How many handles there are: one, and those on their way out.
  @exclusivity(unchecked) final var handles: UInt16 = 0

  @inlinable init(core: StoreCore) {
    self.core = core
  }

  /// Makes the value anew of the children's, which are up to date.
  @usableFromInline func rebuild() {}

  /// Goes out of the store's tables, because nothing holds the node any more.
  @usableFromInline func removeFromTable() {}

  /// Takes out of the value what a child stands for that is being removed.
  /// - Returns: Whether the node has to be removed too, because it cannot be without the child.
  @usableFromInline func remove(_ child: Node) -> Bool { false }

  /// Tells the queries over the node's type that the node is new, has changed or is gone.
  /// - Parameter isTold: Whether their observers are told of a change that moves nothing in the result.
  @usableFromInline func notifyQueries(isReported: Bool) {}

  /// Larger than that of all nodes that the value is made of.
  @usableFromInline var notificationOrder: Int32 { relations?.height ?? 0 }

  /// Whether observers are told between transactions only: nothing that a transaction has half done.
  @usableFromInline var notifiesBetweenTransactions: Bool { false }

  /// Whether to read the value changes nothing: it is up to date, and nothing is noted of the read.
  @usableFromInline var isReadable: Bool { false }

  /// A closure that puts back what the node is now.
  @usableFromInline func makeRestoration() -> () -> Void { {} }

  /// Who this is, for people who look at the store.
  @usableFromInline var label: String { "node" }
}

extension Node {
  /// The relations, made if there are none yet.
  final func makeRelations() -> Relations {
    if let relations { return relations }
    let made = Relations()
    relations = made
    flags.insert(.hasRelations)
    return made
  }

  /// The value is another one from now on.
  final func advanceVersion() {
    if core.undo.isRecording { core.noteVersion(of: self) }
    version &+= 1
  }

  /// Whoever changes a node while its value is being made of its children's would have it made of others. Only a setter
  /// of the value can come to that.
  final func requireNotRebuilding() {
    // Not a precondition, which says nothing in release builds.
    if flags.contains(.rebuilding) {
      fatalError("\(label) was changed while it was being made up to date, by a setter of its own.")
    }
  }

  final var isRetained: Bool {
    if handles > 0 { return true }
    guard let relations else { return false }
    return relations.pins > 0
  }

  final var isAbsent: Bool { flags.contains(.absent) }

  final var hasParents: Bool {
    guard let relations else { return false }
    return !relations.parents.isEmpty
  }

  /// Whether somebody has to be told when the value changes.
  final var isWatched: Bool {
    if flags.contains(.queried) { return true }
    guard let relations else { return false }
    return relations.hasObservers
  }

  /// Whether a value with a stamp comes too late. Of two that came in one transaction with the same stamp, the later
  /// one counts.
  final func rejects(_ stamp: Stamp) -> Bool {
    if stamp.isNaN { return true }
    if self.stamp.isNaN || stamp > self.stamp { return false }
    return stamp != self.stamp || !flags.contains(.stamped)
  }

  /// Sets the stamp of a value that has come.
  final func setStamp(_ stamp: Stamp?) {
    guard let stamp, !stamp.isNaN else { return }
    self.stamp = stamp
    core.pending.addStamped(self)
  }

  /// Keeps the node for a reason inside of the store.
  final func pin() {
    makeRelations().pins += 1
  }

  final func unpin() {
    guard let relations else { return }
    relations.pins -= 1
    core.pending.addReleaseCandidate(self)
  }
}
