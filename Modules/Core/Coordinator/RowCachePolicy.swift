public import Foundation

/// The size and the expiry of the row cache of a coordinator, which keeps rows for later units of work.
///
/// A context retains the rows that it has read until its unit of work ends. The coordinator's row cache keeps the rows
/// that faults, targets of relationships and prefetches loaded for longer. A fault is loaded from the cache only if its
/// reader sees exactly the state of the store that the cached row was read in. So the cache never shows an older or a
/// newer row than the store would: changes by other contexts, coordinators, processes and batch requests are seen as
/// without it. A save by a context of the coordinator moves the cached rows to the saved state; any other change of a
/// store drops the rows of that store. Fetches neither read from the cache nor add to it. A fault loaded singly is
/// cached from the second load on, so that records read once take no room.
///
/// The cache serves stores whose readers know their state without a request to a server, see ``StateMarking``: writable
/// SQLite files. Stores in memory share their rows with every context anyway. A PostgreSQL store would have to ask its
/// server, which costs as much as reading the row, so that its rows are kept for their unit of work only.
public struct RowCachePolicy: Sendable, Hashable {
  /// The greatest number of cached rows of all stores together. The rows read first are evicted first. Zero for no
  /// cache.
  public var limit: Int
  /// The time in seconds after which a row is evicted, counted from its read to the beginning of the unit of work that
  /// looks it up. A row within the limit is kept for half of the time at least. Expired rows are evicted when a later
  /// unit of work looks up a row of the same store. Zero for no cache, `.infinity` for no expiry.
  public var expiry: TimeInterval

  /// Makes a policy from a greatest number of rows and an expiry in seconds.
  public init(limit: Int = 20_000, expiry: TimeInterval = 60) {
    self.limit = limit
    self.expiry = expiry
  }

  /// The policy without a cache.
  public static let off = RowCachePolicy(limit: 0, expiry: 0)

  /// Whether rows are cached.
  var isOn: Bool { limit > 0 && expiry > 0 }
  /// The number of rows of a full generation, which are evicted together.
  var half: Int { limit / 2 + limit % 2 }
}

/// The size of a coordinator's row cache, and its hits and misses since the coordinator was made. Reads of stores
/// without ``StateMarking`` are not counted.
public struct RowCacheStatistics: Sendable, Hashable {
  /// The number of rows cached at present.
  public internal(set) var rows = 0
  /// The number of rows loaded from the cache.
  public internal(set) var hits = 0
  /// The number of rows not found in the cache, and read from a store.
  public internal(set) var misses = 0
  /// The number of rows evicted because of ``RowCachePolicy/limit`` or ``RowCachePolicy/expiry``.
  public internal(set) var evictions = 0
  /// The number of rows dropped because they may be out of date: the record was deleted, another writer changed the
  /// store, or the store was detached.
  public internal(set) var invalidations = 0
}

extension PersistentStoreCoordinator {
  /// The size and the expiry of the row cache. A smaller limit evicts rows at once. May be set on any thread.
  public var rowCachePolicy: RowCachePolicy {
    get { rowCache.policy }
    set { rowCache.policy = newValue }
  }

  /// The statistics of the row cache so far. May be read on any thread.
  public var rowCacheStatistics: RowCacheStatistics { rowCache.statistics }

  /// Saves into a store, and signals the channels of the save. The row cache moves to the state that the save makes.
  ///
  /// - Returns: The rows whose derived values the store has computed.
  func save(_ request: StoreSaveRequest, in store: any PersistentStore) throws -> [Row] {
    let derived = try saveOnly(request, in: store)
    store.sendSignals(of: request)
    return derived
  }

  private func saveOnly(_ request: StoreSaveRequest, in store: any PersistentStore) throws -> [Row] {
    guard let cached = rowCache.beginSave(in: store) else { return try store.saveDeriving(request) }
    defer { rowCache.endSave(in: cached) }
    guard !request.derivations.isEmpty else {
      try cached.store.save(request) { rowCache.follow($0, request, in: cached) }
      return []
    }
    return try store.saveDeriving(request) { rowCache.follow($0, request, deriving: $1, in: cached) }
  }
}

extension PersistentStore {
  /// Saves a request, with the derived values that a ``RelationshipDeriving`` store computes.
  ///
  /// - Parameter committed: Called with the states before and after the save, if the store knows them, and with the
  ///   result.
  /// - Returns: The rows whose derived values the store has computed.
  func saveDeriving(
    _ request: StoreSaveRequest, committed: (StateChange, [Row]) -> Void = { _, _ in }
  ) throws -> [Row] {
    guard !request.derivations.isEmpty, let deriving = self as? any RelationshipDeriving else {
      try save(request)
      return []
    }
    var derived: [Row] = []
    try deriving.save(request) { change, rows in
      derived = rows
      if let change { committed(change, rows) }
    }
    return derived
  }
}
