public import Foundation

/// A place where records are kept.
///
/// Stores know rows, keys and links; they know nothing of contexts and objects. All calls are synchronous and come from
/// threads which may block; a store is called from several threads at once.
///
/// This is the whole of what a backend must do. What it can do beyond is found at run time by its conformance to
/// ``BatchExecuting`` and the other refinements, each with a fallback in Core.
public protocol PersistentStore: AnyObject, Sendable {
  /// What the store was opened with.
  var environment: StoreEnvironment { get }
  /// The store's identity and the spaces of its keys, made with `IDSpaces(store:model:)`.
  var spaces: IDSpaces { get }
  var capabilities: StoreCapabilities { get }

  /// What the store says of itself.
  func metadata() throws -> StoreMetadata
  /// Replaces the `userInfo` of the metadata.
  func setUserInfo(_ userInfo: [String: String]) throws

  /// Begins a unit of reading: all reads of the reader are of one state of the store, the state at its first read.
  func makeReader() throws -> any StoreReader

  /// Sets keys aside for fresh records of a hierarchy. A key is never handed out twice, even if it is never used.
  ///
  /// - Parameter root: The root of the hierarchy.
  func allocateKeys(_ count: Int, for root: EntityDescription) throws -> Range<Int64>

  /// Applies a save in one transaction, durably: all of it, or nothing.
  ///
  /// - Throws: ``StoreConflict/Failure`` when rows are not at the version that the save is based on: all of them are
  ///   named, and versions are looked at before uniqueness. ``ErrorCode/uniquenessViolated`` and
  ///   ``ErrorCode/danglingReference`` with the records concerned; ``ErrorCode/validationFailed`` when the request's
  ///   ``StoreSaveRequest/memberCounts`` are not kept once the steps are taken; errors of the link or the disk with
  ///   their outcome.
  func save(_ request: StoreSaveRequest) throws

  /// Gives everything back. Open readers fail from now on. Closing twice does nothing.
  func close()
}

extension PersistentStore {
  public var identifier: StoreIdentifier { spaces.store }
  public var type: StoreType { environment.type }
  public var url: URL? { environment.url }
  public var configurationName: String? { environment.configurationName }
}

/// The capabilities of a store, each with its question.
public struct StoreCapabilities: OptionSet, Sendable, Hashable {
  public let rawValue: Int
  public init(rawValue: Int) { self.rawValue = rawValue }
  /// Is the content still there after the process ended?
  public static let durable = StoreCapabilities(rawValue: 1)
  /// Can several processes have the store open?
  public static let shared = StoreCapabilities(rawValue: 2)
  /// Can a reader made before a save continue reading while the save runs?
  public static let concurrentReads = StoreCapabilities(rawValue: 4)
  /// Is the store kept in a file?
  public static let file = StoreCapabilities(rawValue: 8)
}

/// A unit of reading. Used by one thread at a time.
public protocol StoreReader: AnyObject {
  /// Starts a fetch.
  func fetch(_ query: StoreQuery) throws -> StoreFetch

  /// The row of a record; `nil` for none. The one call that the firing of a single fault makes.
  func row(_ key: Int64, of root: EntityDescription) throws -> Row?

  /// The rows of several records of a hierarchy, in any order; missing records are left out.
  func rows(_ keys: [Int64], of root: EntityDescription) throws -> [Row]

  /// The links of some records.
  ///
  /// - Parameter fromSource: Whether `keys` are sources of the links, or targets.
  /// - Returns: The links by ascending key of the given side, then by the given side's position (missing first), then
  ///   by ascending key of the other side.
  func links(_ table: LinkTable, of keys: [Int64], fromSource: Bool) throws -> [Link]

  /// The number of records that a query finds, its limit and offset applied; `nil` when the store cannot count exactly.
  func count(_ query: StoreQuery) throws -> Int?

  /// Ends the unit of reading. Called once.
  func finish()
}

/// What a store is asked for.
public struct StoreQuery: Sendable {
  public var entity: EntityDescription
  public var includesSubentities: Bool
  /// Names are known to be good: they were resolved before.
  public var predicate: FetchPredicate?
  public var sortKeys: [SortKey]
  public var limit: Int?
  public var offset: Int

  public init(
    entity: EntityDescription, includesSubentities: Bool = true, predicate: FetchPredicate? = nil,
    sortKeys: [SortKey] = [], limit: Int? = nil, offset: Int = 0
  ) {
    self.entity = entity
    self.includesSubentities = includesSubentities
    self.predicate = predicate
    self.sortKeys = sortKeys
    self.limit = limit
    self.offset = offset
  }

  /// The entities whose rows are asked for.
  public var entities: [EntityDescription] {
    includesSubentities ? entity.concreteEntities : (entity.isAbstract ? [] : [entity])
  }
}

/// A running fetch, with what the store promises of it.
public struct StoreFetch {
  /// Whether exactly the rows that satisfy the predicate come. Otherwise more may come, never fewer.
  public var isPredicateExact: Bool
  /// Whether the rows come in the query's order, ties by ascending key.
  public var isOrderExact: Bool
  /// Whether limit and offset were applied. A store may apply them only when predicate and order are exact.
  public var isRangeExact: Bool
  public var cursor: any RowCursor

  public init(isPredicateExact: Bool, isOrderExact: Bool, isRangeExact: Bool, cursor: any RowCursor) {
    self.isPredicateExact = isPredicateExact
    self.isOrderExact = isOrderExact
    self.isRangeExact = isRangeExact
    self.cursor = cursor
  }

  /// Whether the cursor's rows need no further filtering, ordering or cutting.
  var isExact: Bool { isPredicateExact && isOrderExact && isRangeExact }
}

/// The rows of a fetch, pulled a batch at a time. A store that can pass values without making rows refines its cursors
/// by ``ValueCursor``.
public protocol RowCursor: AnyObject {
  /// Appends some rows, as many as are cheap to get at once. Returns `false`, having appended nothing, at the end.
  func next(into rows: inout [Row]) throws -> Bool
  /// Ends the fetch before its end. Called at most once, and not after `next` answered `false`.
  func close()
}
