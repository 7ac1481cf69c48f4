/// A reader that computes aggregates of groups in its store, without returning the records.
///
/// For a reader without the refinement, and where it returns `nil`, Core reads the records and computes the groups with
/// the same results.
public protocol Aggregating: StoreReader {
  /// Computes the groups of a query.
  ///
  /// The store computes keys and aggregates exactly as ``AggregateFunction`` and ``GroupTable`` do, or returns `nil`. It
  /// may leave the having predicate, the order and the range to Core, and says so in the result.
  ///
  /// - Returns: `nil` when the store cannot evaluate the predicate of the records, a key or an aggregate exactly.
  /// - Throws: Errors of the store.
  func aggregate(_ query: AggregateQuery) throws -> StoreGroups?
}

/// A query for groups of records: the keys, the aggregates, and the condition, order and range of the groups.
public struct AggregateQuery: Sendable {
  /// The records that take part. Without order and range.
  public var records: StoreQuery
  /// The paths of the group keys, which Core has resolved. Records with equal keys are a group; missing keys are equal
  /// to each other. Without keys all records are one group, also if no record takes part.
  public var keys: [PropertyPath]
  /// The aggregates to compute, without averages: an average is a sum divided by a count.
  public var aggregates: [Aggregate]
  /// The columns that the having predicate and the order name by their index.
  public var columns: [GroupColumnSource]
  /// The condition that groups must satisfy; `nil` for all groups. Its paths have one name, which ``column(at:)`` turns
  /// into a column. Core has checked its types.
  public var having: FetchPredicate?
  /// The order of the groups, the most significant criterion first. It is total, because the group keys come last.
  public var order: [Order]
  /// The greatest number of groups; `nil` for all.
  public var limit: Int?
  /// The number of groups to skip at the beginning of the order.
  public var offset: Int

  /// One criterion of the order of groups. Missing values come first in ascending order and last in descending order.
  public struct Order: Sendable, Hashable {
    /// The index of the column.
    public var column: Int
    /// Whether smaller values come first.
    public var isAscending: Bool
    /// The differences between texts to ignore.
    public var options: StringOptions

    /// Makes a criterion of a column's index.
    public init(column: Int, isAscending: Bool = true, options: StringOptions = []) {
      self.column = column
      self.isAscending = isAscending
      self.options = options
    }
  }

  /// Makes a query, for tests of stores. Core makes the queries of requests.
  public init(
    records: StoreQuery, keys: [PropertyPath] = [], aggregates: [Aggregate] = [], columns: [GroupColumnSource] = [],
    having: FetchPredicate? = nil, order: [Order] = [], limit: Int? = nil, offset: Int = 0
  ) {
    self.records = records
    self.keys = keys
    self.aggregates = aggregates
    self.columns = columns
    self.having = having
    self.order = order
    self.limit = limit
    self.offset = offset
  }

  /// The column that a path of the having predicate names; `nil` for any other path.
  public func column(at path: PropertyPath) -> GroupColumnSource? {
    guard path.names.count == 1, let index = Int(path.names[0]), columns.indices.contains(index) else { return nil }
    return columns[index]
  }
}

/// The groups that a store has computed, with the parts of the query that it applied.
public struct StoreGroups: Sendable {
  /// The keys of the first group, its aggregates, then the keys of the second group, and so on.
  ///
  /// The key of a to-one relationship is a reference. A sum of integers or decimals that its type cannot hold is the
  /// nearest double; infinities of both signs have no sum, which is null.
  public var values: [AttributeValue]
  /// Whether every group satisfies the having predicate. Otherwise Core filters the groups.
  public var isHavingExact: Bool
  /// Whether the groups come in the query's order. Otherwise Core sorts them.
  public var isOrderExact: Bool
  /// Whether the store applied limit and offset. A store may apply them only when having and order are exact.
  public var isRangeExact: Bool

  /// Makes a result from the values of groups and the parts of the query that the store applied.
  public init(
    values: [AttributeValue], isHavingExact: Bool = false, isOrderExact: Bool = false, isRangeExact: Bool = false
  ) {
    self.values = values
    self.isHavingExact = isHavingExact
    self.isOrderExact = isOrderExact
    self.isRangeExact = isRangeExact
  }
}
