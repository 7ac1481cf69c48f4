import Synchronization

/// The changes that the live results of a context have not processed yet. Any thread posts to it; the context takes them.
///
/// Above a bound, the list collapses to "everything may have changed", so that the inbox of a context that never runs
/// does not grow.
final class LiveInbox: StoreEventReceiver, TouchedRecordsReceiver {
  /// The greatest number of listed changes.
  static let bound = 10_000

  /// The changes since the last call of ``take()``.
  struct Content {
    var changes: [StoreChanges] = []
    var touched: [TouchedRecords] = []
    var isEverything = false
    /// The detached stores.
    var detached: Set<StoreIdentifier> = []
    fileprivate var count = 0

    var isEmpty: Bool { changes.isEmpty && touched.isEmpty && !isEverything && detached.isEmpty }

    /// Drops the list, except for the identifiers that results may still have to replace.
    fileprivate mutating func collapse() {
      isEverything = true
      (changes, touched, count) = ([], [], 0)
    }
  }

  private struct State {
    var content = Content()
    var interests: [ResultInterest] = []
    var isTurnRequested = false
  }

  private let state = Mutex(State())
  private let handle: ContextHandle

  init(_ handle: ContextHandle) { self.handle = handle }

  /// Sets the interests of the context's results. Changes that concern none of them are not posted.
  func setInterests(_ interests: [ResultInterest]) { state.withLock { $0.interests = interests } }

  func receive(_ event: StoreEvent) {
    let isPosted = state.withLock { state in
      switch event {
      case .changed(let changes):
        guard state.interests.contains(where: { $0.concerns(changes) }) else { return false }
        state.content.changes.append(changes)
        state.content.count += changes.count
      case .everything: state.content.collapse()
      case .detached(let store): state.content.detached.insert(store)
      }
      if state.content.count > Self.bound { state.content.collapse() }
      return true
    }
    if isPosted { requestTurn() }
  }

  func receive(_ touched: TouchedRecords) {
    state.withLock { state in
      state.content.touched.append(touched)
      state.content.count += touched.count
      if state.content.count > Self.bound { state.content.collapse() }
    }
    requestTurn()
  }

  /// Takes the changes.
  func take() -> Content {
    state.withLock { state in
      state.isTurnRequested = false
      defer { state.content = Content() }
      return state.content
    }
  }

  var isEmpty: Bool { state.withLock { $0.content.isEmpty } }

  /// Has the context enter itself soon, unless the calling thread is inside of it: results are brought up to date at
  /// the end of each outermost block.
  func requestTurn() {
    guard let context = handle.context else { return }
    let confinement = context.storage.confinement
    guard !confinement.isEntered, !confinement.isOfThread else { return }
    let isFirst = state.withLock { state in
      defer { state.isTurnRequested = true }
      return !state.isTurnRequested
    }
    guard isFirst else { return }
    confinement.submit { [handle] in handle.context?.inside {} }
  }
}

/// The changes that concern a live result, for the threads of other contexts.
struct ResultInterest: Sendable {
  /// Whether the request finds records of an entity, by ``EntityDescription/position``.
  let isFetched: [Bool]
  let entity: EntityDescription
  let includesSubentities: Bool
  let dependencies: ResultDependencies

  var root: EntityDescription { entity.root }

  /// Whether a record may be found by the request. A batch request names an ancestor of the record's entity.
  func mayFetch(_ record: StoreChanges.Record) -> Bool {
    if isFetched[record.entity.position] { return true }
    return record.row == nil && record.entity.root === root
      && record.entity.concreteEntities.contains { isFetched[$0.position] }
  }

  /// Whether the result depends on the relationships as those of fetched records only.
  func isDirect(_ relationships: Set<RelationshipDescription>) -> Bool {
    relationships.isDisjoint(with: dependencies.farLinks)
  }

  func concerns(_ changes: StoreChanges) -> Bool {
    changes.records.contains { mayFetch($0) || dependencies.concern($0) }
      || changes.renamed.keys.contains { $0.entity.root === root }
      || changes.relinked.contains { $0.key.entity.root === root || !$0.value.isDisjoint(with: dependencies.links) }
  }
}
