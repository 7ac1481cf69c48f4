/// Everything that a store knows, behind one lock.
///
/// An operation locks, works on the graph, and commits: it drops what nothing holds any more, brings up to date what
/// is watched, and posts to the watchers. What runs code of others waits until the lock is free again: callbacks, the
/// logger, and the end of nodes and of what a rollback has undone.
///
/// What an entity was before a write does not wait, because nothing would be as dear as to keep it that long. It is moved
/// out and goes under the lock when its node is whole again, so that the end of an object in it may use the store. What
/// aggregates still have of it is taken out when they are made up to date, one by one and in place, and waits.
// Sendable because its state is only touched inside of `exclusively`, which the callers in this module keep to.
//
// Safety of `@exclusivity(unchecked)` in this module: the lock admits one thread at a time, and each access is over before
// the next begins.
// Safety of `Unmanaged`, `unowned(unsafe)` and `unsafelyUnwrapped` in this module: the core keeps each node until the node
// leaves the graph, which happens under the lock, and a handle outside of the store keeps the core.
// Safety of `unsafeDowncast` and `unsafeBitCast` in this module: a table, an alias and a query have nodes of one type, and
// other casts follow a comparison of the types.
@usableFromInline
final class StoreCore: @unchecked Sendable {
  let lock = StoreLock()
  @usableFromInline let tables = TableDirectory()
  var aliases = AliasDirectory()
  let mailboxes: MailboxDirectory
  let logger: (any EntityStore.Logger)?
  let now: @Sendable () -> Duration

  /// Whether there is nobody to be told of operations as such: no logger, no history.
  @exclusivity(unchecked) @usableFromInline private(set) var isPlain = true
  /// Whether what nodes are before they change has to be kept.
  @exclusivity(unchecked) @usableFromInline private(set) var isJournaling = false
  /// Nodes whose stamps the transaction that is going on has set.
  @exclusivity(unchecked) var stamped: [Node] = []
  /// Nodes whose watchers have to be told.
  @exclusivity(unchecked) var changed: [Node] = []
  /// Nodes that may not be held any more.
  @exclusivity(unchecked) var loose: [Node] = []
  /// What is to be done when the lock is free again.
  @exclusivity(unchecked) var aftermath = Aftermath()
  /// The list of values to let go that was begun last, which is part of the aftermath: most that go together are of one
  /// type.
  @exclusivity(unchecked) @usableFromInline var lastLetGo: (type: ObjectIdentifier, list: UnsafeMutableRawPointer)?
  /// What a rollback needs; there is none when nothing can be rolled back.
  var journal: Journal? {
    didSet { notePlainness() }
  }
  /// Whether what was done is being undone.
  var isRollingBack = false
  /// The log at the end of the journal, to which leaves are added.
  @exclusivity(unchecked) @usableFromInline var openLog: AnyLeafLog?
  /// How many nodes are not settled.
  @exclusivity(unchecked) var unsettledNodes = 0
  /// How many links close a circle.
  @exclusivity(unchecked) var backLinks = 0
  /// Optimistic changes that are neither sure nor taken back.
  var openChanges: [OptimisticEntries] = []
  /// Those of which a rollback has undone the end, but which nobody has any more.
  var abandonedChanges: [OptimisticEntries] = []
  /// How many nodes stand for entities that are removed for the time being.
  var hiddenNodes = 0
  /// Whether there are places that may refuse the removal of an entity.
  @exclusivity(unchecked) var mayRefuse = false
  /// Whether there may be aggregates with the last values of removed entities.
  @exclusivity(unchecked) var keepsRemoved = false
  /// How many nodes have handles. While there are any, the core holds itself.
  @exclusivity(unchecked) var handledNodes = 0
  var history = History() {
    didSet { if history.isKept != oldValue.isKept { notePlainness() } }
  }
  /// What a closure has changed in the aggregate or the content that is being stored.
  var edits: UpdateEdits?
  /// The change whose place the values take that are being stored.
  var replacedChange: OptimisticEntries?
  /// The observers of all nodes.
  var audiences: [ObjectIdentifier: AnyAudience] = [:]
  /// Observations that end with the transaction that is going on.
  var ending: [(AnyAudience, [AnyObservation])] = []
  /// The origin that the operations going on were given.
  @exclusivity(unchecked) var origin: String?
  /// Raised by whatever leaves work for the commit, so that operations that do not pay nothing.
  @exclusivity(unchecked) var hasWork = false

  init(delivery: Delivery, logger: (any EntityStore.Logger)?, now: @escaping @Sendable () -> Duration) {
    mailboxes = MailboxDirectory(standard: delivery)
    self.logger = logger
    self.now = now
    notePlainness()
  }

  private func notePlainness() {
    isPlain = logger == nil && !history.isKept
    isJournaling = journal != nil
  }

  /// Runs an operation with the store to itself. Inside of another one, on the same thread, it is part of that one.
  @inlinable @inline(__always)
  func exclusively<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    enter()
    defer { leave() }
    return try body()
  }

  @usableFromInline func enter() {
    lock.lock()
  }

  @usableFromInline func leave() {
    if hasWork && lock.depth == 1 { return leaveWithWork() }
    lock.unlock()
  }

  private func leaveWithWork() {
    // A value that goes may have the last observer of another one, whose end is an operation of its own.
    StackSpace.forLevel {
      let work = commit()
      lock.unlock()
      work?.run()
    }
  }
}
