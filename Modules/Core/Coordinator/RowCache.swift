import Synchronization

/// The rows that a coordinator caches for later units of work, see ``RowCachePolicy``.
///
/// All cached rows of a store belong to one state of the store, identified by a mark. Only a reader with an equal mark
/// receives cached rows. Rows are kept in two generations: when the newer generation reaches half of the limit, or half
/// of the expiry passed, the older generation is evicted and the newer one takes its place.
final class RowCache: Sendable {
  private let content = Locked(Content())

  /// The number of rows looked up or added before the lock is released for other threads.
  private static let rowsAtOnce = 512

  /// The number of steps of all caches of this process. A step moves the rows of a cached store to another state.
  private static let steps = Atomic<Int>(0)
  /// The number of steps so far. A reader made after a cache's last step sees the cache's state or a later one.
  static var stepCount: Int { steps.load(ordering: .acquiring) }

  /// The number of stores with a known state, over all caches of the process.
  private static let storesInUse = Atomic<Int>(0)
  /// Whether any cache of this process may have rows.
  @inline(__always) static var isAnyInUse: Bool { storesInUse.load(ordering: .relaxed) > 0 }
  /// Counts a store whose state has become known, or, with -1, unknown.
  static func noteInUse(_ change: Int) { storesInUse.add(change, ordering: .relaxed) }

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
    /// The numbers of rows of the two generations, over all stores.
    var newerCount = 0
    var olderCount = 0
    /// The time when the first row of each generation was added.
    var newerSince: ContinuousClock.Instant?
    var olderSince: ContinuousClock.Instant?
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
      result.rows = content.newerCount + content.olderCount
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

  /// The cached rows of a store; `nil` if no row of the store may be cached. Evicts expired rows. Called once for each
  /// reader that loads a row.
  func cachedStore(for store: any PersistentStore) -> CachedStore? {
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
      guard let mark = cached.mark, let row = cached.newerRows.row(id) ?? cached.olderRows.row(id) else {
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
      let batch = keys[start..<min(start + Self.rowsAtOnce, keys.count)]
      let isOfOneState = content.withLock { content in
        guard let mark = cached.mark, cached.count > 0, found.map({ $0.mark == mark }) != false else { return false }
        var candidates = found ?? Candidates(mark: mark)
        // A second reference to the lists would make each batch copy them.
        found = nil
        let missingInNewer = cached.newerRows.find(batch, in: space, into: &candidates.rows)
        let missing = cached.olderRows.find(missingInNewer, in: space, into: &candidates.rows)
        candidates.missing += missing
        content.statistics.hits += batch.count - missing.count
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
    var remaining = rows[...]
    var entered = 0
    while !remaining.isEmpty {
      let batch = remaining.prefix(Self.rowsAtOnce)
      let count = batch.count
      remaining = remaining.dropFirst(count)
      let mayContinue = change { content in
        guard cached.isAttached, content.policy.isOn,
          content.advance(mark, in: cached, readerStep: readerStep)
        else { return false }
        // One read may fill at most half of the cache, so that it does not displace all other rows.
        let room = content.policy.half - entered
        guard room > 0 else { return false }
        for row in batch.prefix(room) { content.enter(row, in: cached) }
        return true
      }
      guard mayContinue else { return }
      entered += count
    }
  }

  // MARK: Saving

  /// Records the beginning of a save into a store; returns `nil` if no row of the store is cached. During the save no
  /// reader moves the cache to another state, because that state would most likely be the one that this save makes.
  func beginSave(in store: any PersistentStore) -> CachedStore? {
    content.withLock { content in
      guard content.newerCount + content.olderCount > 0,
        let cached = content.stores.first(where: { $0.store === store }), cached.count > 0
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
    guard !cached.newerRows.has(row.id), !cached.olderRows.has(row.id) else { return }
    if newerCount >= policy.half { ageGenerations() }
    if newerSince == nil { newerSince = now() }
    cached.newerRows.enter(row)
    newerCount += 1
    if newerCount + olderCount > policy.limit { evictOlderRows() }
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
    if let former = cached.newerRows.replace(row) ?? cached.olderRows.replace(row) { released.rows.append(former) }
  }

  private mutating func drop(_ id: ManagedObjectID, in cached: CachedStore) {
    if let row = cached.newerRows.remove(id) {
      newerCount -= 1
      released.rows.append(row)
      statistics.invalidations += 1
    } else if let row = cached.olderRows.remove(id) {
      olderCount -= 1
      released.rows.append(row)
      statistics.invalidations += 1
    }
  }

  /// Drops the rows of a store whose state is not known any more.
  fileprivate mutating func dropRows(of cached: CachedStore) {
    cached.mark = nil
    guard cached.count > 0 else { return }
    newerCount -= cached.newerRows.count
    olderCount -= cached.olderRows.count
    statistics.invalidations += cached.count
    released.generations += [cached.newerRows, cached.olderRows]
    cached.newerRows = RowGeneration()
    cached.olderRows = RowGeneration()
    if newerCount == 0 { newerSince = nil }
    if olderCount == 0 { olderSince = nil }
  }

  // MARK: Limit and expiry

  /// Evicts rows until the number of rows is within the limit of the policy.
  fileprivate mutating func enforceLimit() {
    if !policy.isOn || newerCount + olderCount > policy.limit { evictOlderRows() }
    if !policy.isOn || newerCount > policy.limit {
      ageGenerations()
      evictOlderRows()
    }
  }

  fileprivate mutating func evictExpired() {
    guard newerSince != nil || olderSince != nil else { return }
    let present = self.now()
    if let since = newerSince, (present - since).inSeconds >= policy.expiry / 2 { ageGenerations() }
    if let since = olderSince, (present - since).inSeconds >= policy.expiry { evictOlderRows() }
  }

  /// Evicts the older generation and makes the newer generation the older one.
  private mutating func ageGenerations() {
    evictOlderRows()
    for cached in stores { swap(&cached.newerRows, &cached.olderRows) }
    (newerCount, olderCount) = (0, newerCount)
    (newerSince, olderSince) = (nil, newerSince)
  }

  /// Evicts the older generation.
  private mutating func evictOlderRows() {
    olderSince = nil
    guard olderCount > 0 else { return }
    for cached in stores where cached.olderRows.count > 0 {
      released.generations.append(cached.olderRows)
      cached.olderRows = RowGeneration()
    }
    statistics.evictions += olderCount
    olderCount = 0
  }
}

extension Duration {
  fileprivate var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) * 1e-18 }
}
