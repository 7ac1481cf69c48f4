import Synchronization

/// The rows that a coordinator caches for later units of work, see ``RowCachePolicy``.
///
/// All cached rows of a store belong to one state of the store, identified by a mark. Only a reader with an equal mark
/// receives cached rows. Rows are kept in two generations: when the young generation reaches half of the limit, or half
/// of the expiry passed, the old generation is evicted and the young one takes its place.
final class RowCache: Sendable {
  private let content = Locked(Content())

  /// The number of rows looked up or added before the lock is released for other threads.
  private static let rowsAtOnce = 512

  /// The number of steps of all caches of this process. A step moves the rows of a cached store to another state.
  private static let steps = Atomic<Int>(0)
  /// The number of steps so far. A reader made after a cache's last step sees the cache's state or a later one.
  static var stepCount: Int { steps.load(ordering: .acquiring) }

  /// The number of stores with a known state, over all caches of the process.
  private static let partsInUse = Atomic<Int>(0)
  /// Whether any cache of this process may have rows.
  @inline(__always) static var isAnyInUse: Bool { partsInUse.load(ordering: .relaxed) > 0 }
  static func noteInUse(_ change: Int) { partsInUse.add(change, ordering: .relaxed) }

  /// Rows to release outside the lock, because this reference may be their last.
  fileprivate struct Released {
    var generations: [RowGeneration] = []
    var rows: [Row] = []
  }

  fileprivate struct Content {
    var policy = RowCachePolicy()
    var now: @Sendable () -> ContinuousClock.Instant = { .now }
    var stores: [CachedStore] = []
    var statistics = RowCacheStatistics()
    /// The numbers of rows of the two generations.
    var young = 0
    var old = 0
    /// The time when the first row of each generation was added.
    var youngSince: ContinuousClock.Instant?
    var oldSince: ContinuousClock.Instant?
    var released = Released()
    var prints = ReadPrints()
  }

  /// Changes the content. Dropped rows are released after the lock.
  @inline(__always) private func change<T>(_ body: (inout Content) -> T) -> T {
    var released = Released()
    let result = content.withLock { content in
      let result = body(&content)
      swap(&content.released, &released)
      return result
    }
    withExtendedLifetime(released) {}
    return result
  }

  // MARK: Settings

  var policy: RowCachePolicy {
    get { content.withLock { $0.policy } }
    set {
      change { content in
        content.policy = newValue
        content.enforceLimit()
      }
    }
  }

  var statistics: RowCacheStatistics {
    content.withLock { content in
      var result = content.statistics
      result.rows = content.young + content.old
      return result
    }
  }

  /// Sets the clock by which rows expire, for tests.
  func setClock(_ now: @escaping @Sendable () -> ContinuousClock.Instant) { content.withLock { $0.now = now } }

  // MARK: Stores

  /// Begins to cache rows of an attached store.
  func add(_ store: any StateMarking) { content.withLock { $0.stores.append(CachedStore(store)) } }

  /// Drops the rows of a detached store and stops caching its rows.
  func remove(_ store: any PersistentStore) {
    change { content in
      guard let index = content.stores.firstIndex(where: { $0.store === store }) else { return }
      let cached = content.stores.remove(at: index)
      content.dropRows(of: cached)
      cached.isAttached = false
    }
  }

  /// The part of the cache for a store; `nil` if no row of the store may be cached. Evicts expired rows. Called once
  /// for each reader that loads a row.
  func part(for store: any PersistentStore) -> CachedStore? {
    change { content in
      guard !content.stores.isEmpty, content.policy.isOn,
        let cached = content.stores.first(where: { $0.store === store })
      else { return nil }
      content.evictExpired()
      return cached
    }
  }

  // MARK: Reading

  /// The cached row of a record, with the mark of its state.
  func candidate(_ id: ManagedObjectID, in cached: CachedStore) -> (row: Row, mark: StateMark)? {
    content.withLock { content in
      guard let mark = cached.mark, let row = cached.young.row(id) ?? cached.old.row(id) else {
        content.statistics.misses += 1
        return nil
      }
      content.statistics.hits += 1
      return (row, mark)
    }
  }

  /// The cached rows of several records of a hierarchy, as a result.
  struct Candidates {
    var rows: [Row] = []
    /// The keys of the other records.
    var missing: [Int64] = []
    /// The mark of the state that the rows belong to.
    var mark: StateMark
  }

  /// The cached rows of several records of a hierarchy; `nil` for none.
  func candidates(_ keys: [Int64], in space: IDSpace, of cached: CachedStore) -> Candidates? {
    var found: Candidates?
    for start in stride(from: 0, to: keys.count, by: Self.rowsAtOnce) {
      let part = keys[start..<min(start + Self.rowsAtOnce, keys.count)]
      let isOfOneState = content.withLock { content in
        guard let mark = cached.mark, cached.count > 0, found.map({ $0.mark == mark }) != false else { return false }
        var candidates = found ?? Candidates(mark: mark)
        found = nil
        let younger = cached.young.find(part, in: space, into: &candidates.rows)
        let missing = cached.old.find(younger, in: space, into: &candidates.rows)
        candidates.missing += missing
        content.statistics.hits += part.count - missing.count
        content.statistics.misses += missing.count
        found = candidates
        return true
      }
      guard isOfOneState else {
        // The state changed between two batches, or no row is cached: the caller reads all rows.
        let hits = found?.rows.count ?? 0
        content.withLock { content in
          content.statistics.hits -= hits
          content.statistics.misses += hits + keys.count - start
        }
        return nil
      }
    }
    return found?.rows.isEmpty == false ? found : nil
  }

  /// Counts found rows as misses, because they belong to another state than the reader's.
  func countMisses(_ count: Int) {
    content.withLock { content in
      content.statistics.hits -= count
      content.statistics.misses += count
    }
  }

  /// Drops the cached rows if a reader sees a later state than theirs.
  ///
  /// - Parameter readerStep: The value of ``stepCount`` when the reader was made.
  func renew(_ cached: CachedStore, to mark: StateMark, readerStep: Int) {
    change { content in
      guard cached.isAttached, cached.mark != nil else { return }
      _ = content.advance(mark, in: cached, readerStep: readerStep)
    }
  }

  /// Records that a record is read singly.
  /// - Returns: Whether the record was read singly before. A record read only once would displace other rows.
  func wasReadBefore(_ id: ManagedObjectID) -> Bool { content.withLock { $0.prints.note(id) } }

  /// Caches a row that a reader read, see ``enter(_:in:at:readerStep:)``.
  func enter(_ row: Row, in cached: CachedStore, at mark: StateMark, readerStep: Int) {
    change { content in
      guard cached.isAttached, content.policy.isOn, content.advance(mark, in: cached, readerStep: readerStep) else {
        return
      }
      content.enter(row, in: cached)
    }
  }

  /// Caches rows that a reader read.
  ///
  /// - Parameters:
  ///   - mark: The mark of the state that the reader sees.
  ///   - readerStep: The value of ``stepCount`` when the reader was made.
  func enter(_ rows: some Collection<Row>, in cached: CachedStore, at mark: StateMark, readerStep: Int) {
    var rest = rows[...]
    var entered = 0
    while !rest.isEmpty {
      let part = rest.prefix(Self.rowsAtOnce)
      let count = part.count
      rest = rest.dropFirst(count)
      let goesOn = change { content in
        guard cached.isAttached, content.policy.isOn,
          content.advance(mark, in: cached, readerStep: readerStep)
        else { return false }
        // One read may fill at most half of the cache, so that it does not displace all other rows.
        let room = content.policy.half - entered
        guard room > 0 else { return false }
        for row in part.prefix(room) { content.enter(row, in: cached) }
        return true
      }
      guard goesOn else { return }
      entered += count
    }
  }

  // MARK: Saving

  /// Records the beginning of a save into a store; returns `nil` if no row of the store is cached. During the save no
  /// reader moves the cache to another state, because that state would most likely be the one that this save makes.
  func beginSave(in store: any PersistentStore) -> CachedStore? {
    content.withLock { content in
      guard content.young + content.old > 0, let cached = content.stores.first(where: { $0.store === store }),
        cached.count > 0
      else { return nil }
      cached.saves += 1
      return cached
    }
  }

  func endSave(in cached: CachedStore) { content.withLock { _ in cached.saves -= 1 } }

  /// Moves the cached rows to the state that a save made.
  ///
  /// - Parameter derived: The rows whose derived values the save has changed.
  func follow(
    _ step: StateChange, _ request: StoreSaveRequest, deriving derived: [Row] = [], in cached: CachedStore
  ) {
    change { content in
      guard cached.isAttached, cached.mark != step.to else { return }
      if cached.mark == step.from {
        content.apply(request.steps, to: cached)
        content.replace(derived, in: cached)
      } else {
        content.dropRows(of: cached)
      }
      cached.mark = step.to
      cached.step = Self.nextStep()
    }
  }

  fileprivate static func nextStep() -> Int { steps.add(1, ordering: .acquiringAndReleasing).newValue }
}

// MARK: - Content

extension RowCache.Content {
  /// Moves the cached rows of a store to a reader's state, unless that state is older.
  ///
  /// - Returns: Whether rows of the reader's state may be added.
  fileprivate mutating func advance(_ mark: StateMark, in cached: CachedStore, readerStep: Int) -> Bool {
    if cached.mark == mark { return true }
    // A reader made before the cache moved to its state may see an older state.
    guard cached.saves == 0, readerStep >= cached.step else { return false }
    dropRows(of: cached)
    cached.mark = mark
    cached.step = RowCache.nextStep()
    return true
  }

  fileprivate mutating func enter(_ row: Row, in cached: CachedStore) {
    guard !cached.young.has(row.id), !cached.old.has(row.id) else { return }
    if young >= policy.half { ageGenerations() }
    if youngSince == nil { youngSince = now() }
    cached.young.enter(row)
    young += 1
    if young + old > policy.limit { evictOld() }
  }

  /// Applies the steps of a save to the cached rows. Records without a cached row are left out.
  fileprivate mutating func apply(_ steps: [SaveStep], to cached: CachedStore) {
    for step in steps {
      switch step {
      case .update(_, _, let updates): for update in updates { replace(update.row, in: cached) }
      // A fix may be one of several steps that change a row, so its row may be incomplete.
      case .fix(_, _, let rows): for row in rows { drop(row.id, in: cached) }
      case .delete(_, let deletes): for delete in deletes { drop(delete.id, in: cached) }
      // An inserted record has no cached row, and links are part of no row.
      case .insert, .link, .unlink: break
      }
    }
  }

  fileprivate mutating func replace(_ rows: [Row], in cached: CachedStore) {
    for row in rows { replace(row, in: cached) }
  }

  private mutating func replace(_ row: Row, in cached: CachedStore) {
    if let former = cached.young.replace(row) ?? cached.old.replace(row) { released.rows.append(former) }
  }

  private mutating func drop(_ id: ManagedObjectID, in cached: CachedStore) {
    if let row = cached.young.remove(id) {
      young -= 1
      released.rows.append(row)
      statistics.invalidations += 1
    } else if let row = cached.old.remove(id) {
      old -= 1
      released.rows.append(row)
      statistics.invalidations += 1
    }
  }

  /// Drops the rows of a store whose state is not known any more.
  fileprivate mutating func dropRows(of cached: CachedStore) {
    cached.mark = nil
    guard cached.count > 0 else { return }
    young -= cached.young.count
    old -= cached.old.count
    statistics.invalidations += cached.count
    released.generations += [cached.young, cached.old]
    cached.young = RowGeneration()
    cached.old = RowGeneration()
    if young == 0 { youngSince = nil }
    if old == 0 { oldSince = nil }
  }

  // MARK: Limit and expiry

  fileprivate mutating func enforceLimit() {
    if !policy.isOn || young + old > policy.limit { evictOld() }
    if !policy.isOn || young > policy.limit {
      ageGenerations()
      evictOld()
    }
  }

  fileprivate mutating func evictExpired() {
    guard youngSince != nil || oldSince != nil else { return }
    let present = self.now()
    if let since = youngSince, (present - since).inSeconds >= policy.expiry / 2 { ageGenerations() }
    if let since = oldSince, (present - since).inSeconds >= policy.expiry { evictOld() }
  }

  /// Evicts the old generation and makes the young generation the old one.
  private mutating func ageGenerations() {
    evictOld()
    for cached in stores { swap(&cached.young, &cached.old) }
    (young, old) = (0, young)
    (youngSince, oldSince) = (nil, youngSince)
  }

  /// Evicts the old generation.
  private mutating func evictOld() {
    oldSince = nil
    guard old > 0 else { return }
    for cached in stores where cached.old.count > 0 {
      released.generations.append(cached.old)
      cached.old = RowGeneration()
    }
    statistics.evictions += old
    old = 0
  }
}

extension Duration {
  fileprivate var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) * 1e-18 }
}
