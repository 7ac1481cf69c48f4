public import Foundation

/// How many rows a coordinator keeps for later units of work, and how long.
///
/// A context keeps what it has read until its unit of work ends. The coordinator keeps the rows that faults, targets of
/// relationships and prefetches loaded beyond that, in its row cache. A fault is loaded from the cache only if its reader
/// sees the very state of the store that the kept row was read in. So the cache never shows an older or a newer row than
/// the store would: changes by other contexts, coordinators, processes and batch requests are seen as without it. A save
/// by a context of the coordinator takes the kept rows along; any other change of a store drops the rows of that store.
/// Fetches neither read from the cache nor add to it. A fault loaded by itself is kept from the second time on, so that
/// records which are read once take no room.
///
/// The cache serves stores whose readers know their state without asking a server, see ``StateMarking``: SQLite files that
/// are open to write. Stores in memory share their rows with every context anyway. PostgreSQL has no such knowledge: asking
/// the server costs as much as reading the row, and therefore the rows of a PostgreSQL store are kept for their unit of work
/// only.
public struct RowCachePolicy: Sendable, Hashable {
  /// The most kept rows, of all stores together; the rows read first are released first. Zero for no cache.
  public var limit: Int
  /// For how many seconds a row is kept at most, counted from its read to the beginning of the unit of reading that wants it.
  /// A row below the limit is kept for half of the time at least. Expired rows are released when a later unit of reading
  /// begins. Zero for no cache, `.infinity` for no bound.
  public var expiry: TimeInterval

  public init(limit: Int = 20_000, expiry: TimeInterval = 60) {
    self.limit = limit
    self.expiry = expiry
  }

  /// No row is kept.
  public static let off = RowCachePolicy(limit: 0, expiry: 0)

  /// Whether rows are kept at all.
  var isOn: Bool { limit > 0 && expiry > 0 }
  /// How many rows are released together.
  var half: Int { limit / 2 + limit % 2 }
}

/// What a coordinator's row cache has, and what it did since the coordinator was made. Reads of stores without
/// ``StateMarking`` are not counted.
public struct RowCacheStatistics: Sendable, Hashable {
  /// The number of rows kept at present.
  public internal(set) var rows = 0
  /// How many rows were loaded from the cache.
  public internal(set) var hits = 0
  /// How many rows were wanted, and had to be read from a store.
  public internal(set) var misses = 0
  /// How many rows were released because of ``RowCachePolicy/limit`` or ``RowCachePolicy/expiry``.
  public internal(set) var evictions = 0
  /// How many rows were released because their record was deleted or their store was changed from elsewhere.
  public internal(set) var invalidations = 0
}

extension PersistentStoreCoordinator {
  /// How many rows are kept for later units of work, and how long. Rows that a new limit leaves no room for are released at
  /// once.
  public var rowCachePolicy: RowCachePolicy {
    get { rowCache.policy }
    set { rowCache.policy = newValue }
  }

  /// What the row cache has, and what it did so far.
  public var rowCacheStatistics: RowCacheStatistics { rowCache.statistics }

  /// Saves into a store. The row cache follows the save to the state that it makes.
  func save(_ request: StoreSaveRequest, in store: any PersistentStore) throws {
    guard let cached = rowCache.beginSave(in: store) else { return try store.save(request) }
    defer { rowCache.endSave(in: cached) }
    try cached.store.save(request) { rowCache.follow($0, request, in: cached) }
  }
}
