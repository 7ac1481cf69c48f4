import Synchronization

/// The changes that the live results of a context have not processed yet. Any thread posts changes; the context takes
/// them.
///
/// Above a bound, the list collapses to "everything may have changed", so that the inbox of an idle context does not
/// grow.
final class LiveInbox: StoreEventReceiver, TouchedRecordsReceiver {
  /// The greatest number of listed changes.
  static let bound = 10_000

  /// The changes since the last call of ``take()``.
  struct Content {
    var changes: [StoreChanges] = []
    var touched: [TouchedRecords] = []
    var isEverything = false
    /// Whether the collapse has dropped unsaved changes, which a comparison of row versions cannot find again.
    private(set) var hasLostTouched = false
    /// The roots of the owners whose changes of members the collapse has dropped. Row versions do not show these changes
    /// either.
    private(set) var lostOwnerRoots: Set<ObjectIdentifier> = []
    /// Whether a result waits for a turn outside of a cancelled task.
    fileprivate(set) var isPostponed = false
    /// Whether posted rows may be out of date: the results follow other processes, which post no rows, or a result has
    /// begun after the posts.
    var isUncertain = false
    /// The detached stores. Retained, because another store must not get the address of one of them.
    var detached: [any AnyObject & Sendable] = []
    /// The number of listed changes.
    fileprivate var count = 0

    var isEmpty: Bool { changes.isEmpty && touched.isEmpty && !isEverything && !isPostponed && detached.isEmpty }

    /// Whether a part of the content came from the stores.
    fileprivate(set) var isFromStores = false

    /// Adds changes that waited, in front of these.
    fileprivate mutating func add(earlier: Content) {
      changes = earlier.changes + changes
      touched = earlier.touched + touched
      isEverything = isEverything || earlier.isEverything
      hasLostTouched = hasLostTouched || earlier.hasLostTouched
      lostOwnerRoots.formUnion(earlier.lostOwnerRoots)
      isPostponed = isPostponed || earlier.isPostponed
      isFromStores = isFromStores || earlier.isFromStores
      isUncertain = isUncertain || earlier.isUncertain
      detached = earlier.detached + detached
      count += earlier.count
    }

    /// Drops the list.
    fileprivate mutating func collapse() {
      isEverything = true
      if !touched.isEmpty { hasLostTouched = true }
      for dropped in changes { lostOwnerRoots.formUnion(dropped.ownerRoots) }
      (changes, touched, count) = ([], [], 0)
    }
  }

  /// The changes that the results follow.
  enum Followed { case all, ownChanges, none }

  fileprivate struct State {
    var content = Content()
    /// The changes that wait for the end or the move of a pinned snapshot.
    var waiting = Content()
    var followed = Followed.all
    var interests: [ResultInterest] = []
    /// Whether a requested turn will take the content. The flag and the content change under one lock: otherwise a turn
    /// between the two changes would find no content, and no later change would request another turn.
    var isTurnRequested = false
  }

  private let state = Mutex(State())
  private let handle: ContextHandle
  private let confinement: Confinement

  init(_ handle: ContextHandle, _ confinement: Confinement) {
    self.handle = handle
    self.confinement = confinement
  }

  /// Sets the interests of the context's results. Changes outside of all interests are not posted.
  func setInterests(_ interests: [ResultInterest]) { state.withLock { $0.interests = interests } }

  func receive(_ event: StoreEvent) {
    post(isOwn: false) { interests, content in
      switch event {
      case .changed(let changes):
        guard interests.contains(where: { $0.concerns(changes) }) else { return false }
        content.changes.append(changes)
        content.count += changes.count
      case .everything: content.isEverything = true
      case .detached(let store): content.detached.append(store)
      }
      content.isFromStores = true
      return true
    }
  }

  func receive(_ touched: TouchedRecords) {
    post(isOwn: true) { _, content in
      content.touched.append(touched)
      // A change of every record lists none, and counts too.
      content.count += max(touched.count, 1)
      if touched.isEverything { content.isEverything = true }
      return true
    }
  }

  /// Has the requests run again, in a state of the stores that the posted changes do not lead to.
  func runAgain() {
    post(isOwn: true) { _, content in
      content.isEverything = true
      content.isFromStores = true
      return true
    }
  }

  /// Has the rows of the posted changes read again. A result that begins reads later states of their records, and the
  /// changes to these states may not have been posted, because they concern no earlier result.
  func markUncertain() {
    state.withLock { state in
      if !state.content.changes.isEmpty { state.content.isUncertain = true }
      if !state.waiting.changes.isEmpty { state.waiting.isUncertain = true }
    }
  }

  /// Sets the changes that the results follow. Other changes wait.
  func follow(_ followed: Followed) {
    state.withLock { state in
      // A pinned snapshot that moves continues to follow own changes only. Its new state has the changes that wait, so
      // that the results must process them now.
      guard state.followed != followed || followed == .ownChanges else { return }
      state.followed = followed
      if followed == .none { return state.wait() }
      state.content.add(earlier: state.waiting)
      state.waiting = Content()
    }
  }

  /// Requests a later turn for a result whose update failed because the present task is cancelled.
  func postpone() {
    post(isOwn: true) { _, content in
      content.isPostponed = true
      return true
    }
  }

  /// Adds changes, and requests a turn of the context. A caller inside of the context needs no request, because the
  /// results are updated at the end of its outermost block.
  ///
  /// - Parameters:
  ///   - isOwn: Whether the changes are those of the context itself, and not of a store.
  ///   - add: Returns whether changes were added.
  private func post(isOwn: Bool, _ add: ([ResultInterest], inout Content) -> Bool) {
    let isInside = confinement.isEntered || confinement.isOfThread
    let needsTurn = state.withLock { state in
      guard state.follows(isOwn: isOwn) else {
        if add(state.interests, &state.waiting), state.waiting.count > Self.bound { state.waiting.collapse() }
        return false
      }
      guard add(state.interests, &state.content) else { return false }
      if state.content.count > Self.bound { state.content.collapse() }
      return !isInside && state.requestTurn()
    }
    if needsTurn { submitTurn() }
  }

  /// Removes and returns the changes.
  func take() -> Content {
    state.withLock { state in
      state.isTurnRequested = false
      defer { state.content = Content() }
      return state.content
    }
  }

  var isEmpty: Bool { state.withLock { $0.content.isEmpty } }

  /// Whether the inbox has unsaved changes of the context and its parents, and nothing else.
  var hasOnlyTouched: Bool { state.withLock { !$0.content.isEmpty && !$0.content.isFromStores } }

  /// Requests a turn of the context if changes wait.
  func requestTurn() {
    guard !confinement.isOfThread, state.withLock({ !$0.content.isEmpty && $0.requestTurn() }) else { return }
    submitTurn()
  }

  private func submitTurn() { confinement.submit { [handle] in handle.context?.insideAlone {} } }
}

extension LiveInbox.State {
  fileprivate func follows(isOwn: Bool) -> Bool {
    switch followed {
    case .all: true
    case .ownChanges: isOwn
    case .none: false
    }
  }

  /// Has the content wait.
  fileprivate mutating func wait() {
    var all = content
    all.add(earlier: waiting)
    (waiting, content) = (all, LiveInbox.Content())
  }

  /// Records the request of a turn.
  ///
  /// - Returns: Whether the caller must submit the turn, because no earlier request is open.
  fileprivate mutating func requestTurn() -> Bool {
    defer { isTurnRequested = true }
    return !isTurnRequested
  }
}

/// The properties and records that a live result depends on. Writers on other threads use them to skip irrelevant
/// changes.
struct ResultInterest: Sendable {
  /// Whether the request finds records of an entity, by ``EntityDescription/position``.
  let isFetched: [Bool]
  let entity: EntityDescription
  let includesSubentities: Bool
  let dependencies: ResultDependencies
  /// The only record that the request may find; `nil` for any record.
  var only: ManagedObjectID?
  /// The roots of all hierarchies whose changes may concern the result.
  private let roots: Set<ObjectIdentifier>

  init(
    isFetched: [Bool], entity: EntityDescription, includesSubentities: Bool, dependencies: ResultDependencies,
    only: ManagedObjectID?
  ) {
    self.isFetched = isFetched
    self.entity = entity
    self.includesSubentities = includesSubentities
    self.dependencies = dependencies
    self.only = only
    roots = dependencies.roots.union([ObjectIdentifier(entity.root)])
  }

  var root: EntityDescription { entity.root }
  /// The concrete entities of the fetched records.
  var entities: [EntityDescription] {
    StoreQuery(entity: entity, includesSubentities: includesSubentities).entities
  }

  /// Whether a record may satisfy the request. The change of a batch request may have an ancestor of the record's
  /// entity.
  func mayFetch(_ record: StoreChanges.Record) -> Bool {
    if let only, record.id != only { return false }
    if isFetched[record.entity.position] { return true }
    return record.row == nil && record.entity.root === root
      && record.entity.concreteEntities.contains { isFetched[$0.position] }
  }

  /// Whether the result depends on the relationships only as relationships of the fetched records themselves.
  func isDirect(_ relationships: Set<RelationshipDescription>) -> Bool {
    relationships.isDisjoint(with: dependencies.farLinks)
  }

  /// Whether changes may change the result.
  func concerns(_ changes: StoreChanges) -> Bool {
    guard !changes.roots.isDisjoint(with: roots) else { return false }
    return changes.records.contains { mayFetch($0) || dependencies.concern($0) }
      || changes.renamed.keys.contains { $0.entity.root === root }
      || changes.relinkedByBatch.contains { $0.entity.root === root }
      || changes.relinked.contains { $0.key.entity.root === root || !$0.value.isDisjoint(with: dependencies.links) }
  }
}
