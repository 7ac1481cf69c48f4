public import Foundation

/// A container of records: a file, a schema of a server's database, or memory.
///
/// A store works with rows, keys and links, and knows no contexts and no objects. All calls are synchronous and may
/// block. Several threads call a store at the same time.
///
/// The protocol has the operations that each backend must support. Core finds further abilities at run time by
/// conformance to ``BatchExecuting`` and the other refinements, each with a fallback in Core.
public protocol PersistentStore: AnyObject, Sendable {
  /// The environment with which the store was opened. It leads the factory of the store's type to the same store again,
  /// for example to erase the store: a factory that changes the location of an environment leaves the changed location
  /// alone.
  var environment: StoreEnvironment { get }
  /// The store's identity and the spaces of its keys, made with `IDSpaces(store:model:)`.
  var spaces: IDSpaces { get }
  /// The capabilities of the store. Constant while the store is open.
  var capabilities: StoreCapabilities { get }

  /// Reads the metadata of the store.
  ///
  /// - Throws: Errors of the store.
  func metadata() throws -> StoreMetadata
  /// Replaces the `userInfo` of the metadata, durably.
  ///
  /// - Throws: ``ErrorCode/storeReadOnly``, and errors of the store.
  func setUserInfo(_ userInfo: [String: String]) throws

  /// Makes a reader. All its reads see one state of the store: the state at its first read.
  func makeReader() throws -> any StoreReader

  /// Reserves consecutive keys for new records of a hierarchy. A key is never returned twice, even if it stays unused.
  ///
  /// - Parameter root: The root of the hierarchy.
  /// - Throws: ``ErrorCode/storeReadOnly``, and errors of the store.
  func allocateKeys(_ count: Int, for root: EntityDescription) throws -> Range<Int64>

  /// Applies a save in one transaction, durably: all of it, or nothing.
  ///
  /// - Throws: ``StoreConflict/Failure`` when rows are not at the version on which the save is based. The failure lists
  ///   all such rows, and versions are checked before uniqueness. ``ErrorCode/uniquenessViolated`` and
  ///   ``ErrorCode/danglingReference`` with the records concerned; ``ErrorCode/storeCorrupt``, or
  ///   ``ErrorCode/uniquenessViolated`` in a store of several processes, for an inserted row with the key of a stored
  ///   record; ``ErrorCode/validationFailed`` when the request's ``StoreSaveRequest/memberCounts`` are violated after the
  ///   steps; errors of the connection or the disk with their outcome. An error of another type does not say whether the
  ///   save was applied, so that its outcome is ``SaveOutcome/unknown``.
  func save(_ request: StoreSaveRequest) throws

  /// Releases all resources. Open readers fail from now on. A second call does nothing.
  func close()
}

extension PersistentStore {
  /// The identity of the store.
  public var identifier: StoreIdentifier { spaces.store }
  /// The type that the store was opened as.
  public var type: StoreType { environment.type }
  /// The location of the store; `nil` for a store without a location.
  public var url: URL? { environment.url }
  /// The model configuration that the store holds; `nil` for all entities.
  public var configurationName: String? { environment.configurationName }
}

/// The capabilities of a store.
public struct StoreCapabilities: OptionSet, Sendable, Hashable {
  /// One bit for each capability.
  public let rawValue: Int
  /// Makes a set of bits.
  public init(rawValue: Int) { self.rawValue = rawValue }
  /// The content survives the end of the process.
  public static let durable = StoreCapabilities(rawValue: 1)
  /// Several processes can have the store open.
  public static let shared = StoreCapabilities(rawValue: 2)
  /// A reader made before a save can continue to read during the save.
  public static let concurrentReads = StoreCapabilities(rawValue: 4)
  /// The store is in a file.
  public static let file = StoreCapabilities(rawValue: 8)
}

/// A view of one state of a store. Used by one thread at a time. After an error the reader may be unusable; Core still
/// calls ``finish()``.
public protocol StoreReader: AnyObject {
  /// Begins a fetch. The reader may have several unfinished fetches at the same time.
  func fetch(_ query: StoreQuery) throws -> StoreFetch

  /// Returns the row of a record; `nil` for a missing record. The load of a single fault makes only this call.
  func row(_ key: Int64, of root: EntityDescription) throws -> Row?

  /// Returns the rows of several records of a hierarchy, in any order, without missing records.
  func rows(_ keys: [Int64], of root: EntityDescription) throws -> [Row]

  /// Returns the links of records.
  ///
  /// - Parameter fromSource: Whether `keys` are sources of the links, or targets.
  /// - Returns: The links by ascending key of the given side, then by the given side's position (missing first), then
  ///   by ascending key of the other side.
  func links(_ table: LinkTable, of keys: [Int64], fromSource: Bool) throws -> [Link]

  /// Returns the number of records that satisfy a query, within its limit and offset; `nil` if the store cannot count
  /// exactly, so that Core counts.
  func count(_ query: StoreQuery) throws -> Int?

  /// Ends the reader. Called once.
  func finish()
}

/// The query of a fetch: the condition on the records, their order and the range.
public struct StoreQuery: Sendable {
  /// The entity of the records.
  public var entity: EntityDescription
  /// Whether the query is for records of subentities too.
  public var includesSubentities: Bool
  /// The condition that records must satisfy; `nil` for all records. Core has resolved its names and checked its types.
  public var predicate: FetchPredicate?
  /// The criteria of order, the most significant first.
  public var sortKeys: [SortKey]
  /// The greatest number of records; `nil` for all.
  public var limit: Int?
  /// The number of records to skip at the beginning of the order.
  public var offset: Int
  /// Whether the rows may come in any order, so that the store need not sort them. Without sort keys.
  package var isUnordered = false

  /// Makes a query, for tests of stores. Core makes the queries of fetches.
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

  /// The concrete entities of the records.
  public var entities: [EntityDescription] {
    includesSubentities ? entity.concreteEntities : (entity.isAbstract ? [] : [entity])
  }
}

/// A running fetch, and the parts of the query that the store itself applies.
public struct StoreFetch {
  /// Whether the cursor returns exactly the rows that satisfy the predicate. Otherwise it may return more rows, never
  /// fewer, and Core filters them.
  public var isPredicateExact: Bool
  /// Whether the cursor returns the rows in the query's order, ties by ascending key. Otherwise Core sorts them.
  public var isOrderExact: Bool
  /// Whether the store applies limit and offset. A store may apply them only when predicate and order are exact.
  public var isRangeExact: Bool
  /// The rows of the fetch.
  public var cursor: any RowCursor

  /// Makes a fetch from a cursor and the parts of the query that the store applies.
  public init(isPredicateExact: Bool, isOrderExact: Bool, isRangeExact: Bool, cursor: any RowCursor) {
    self.isPredicateExact = isPredicateExact
    self.isOrderExact = isOrderExact
    self.isRangeExact = isRangeExact
    self.cursor = cursor
  }

  /// Whether the cursor's rows need no further filtering, ordering or cutting.
  var isExact: Bool { isPredicateExact && isOrderExact && isRangeExact }
}

/// The rows of a fetch, read a batch at a time by one thread. A cursor that can pass values without making rows
/// conforms to ``ValueCursor``.
public protocol RowCursor: AnyObject {
  /// Appends the next rows, as many as are cheap to read together.
  ///
  /// - Returns: `false` at the end, without an appended row.
  /// - Throws: Errors of the store.
  func next(into rows: inout [Row]) throws -> Bool
  /// Cancels the fetch before its end. Called at most once, and not after `next` has returned `false`.
  func close()
}
