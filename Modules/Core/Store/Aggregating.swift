/// A reader that computes aggregates of groups in its store, without returning the records.
///
/// For a reader without the refinement, and after a result of `nil`, Core reads the records and computes the groups
/// with the same results.
public protocol Aggregating: StoreReader {
  /// Computes the groups of a query.
  ///
  /// The store computes keys and aggregates exactly like ``AggregateFunction`` and ``GroupTable``, or returns `nil`. It
  /// may leave the having predicate, the order and the range to Core; the result states which parts the store applied.
  ///
  /// - Returns: `nil` when the store cannot evaluate the predicate of the records, a key or an aggregate exactly.
  /// - Throws: Errors of the store.
  func aggregate(_ query: AggregateQuery) throws -> StoreGroups?
}

/// A query for groups of records: the keys, the aggregates, and the condition, order and range of the groups.
public struct AggregateQuery: Sendable {
  /// The query for the grouped records, without order and range.
  public var records: StoreQuery
  /// The paths of the group keys, which Core has checked. Records with equal keys are a group; missing keys are equal
  /// to each other. Without keys all records are one group, even if there are none.
  public var keys: [PropertyPath]
  /// The aggregates to compute, without averages: an average is a sum divided by a count.
  public var aggregates: [AggregateExpression]
  /// The columns, to which the having predicate and the order refer by index.
  public var columns: [GroupColumnSource]
  /// The condition that groups must satisfy; `nil` for all groups. Each path is the index of a column, see
  /// ``column(at:)``. Core has checked the types.
  public var having: FetchPredicate?
  /// The order of the groups, the most significant criterion first. The group keys come last, so that the order is
  /// total.
  public var order: [Order]
  /// The greatest number of groups; `nil` for all.
  public var limit: Int?
  /// The number of groups to skip at the beginning of the order.
  public var offset: Int

  /// One criterion of the order of groups.
  public struct Order: Sendable, Hashable {
    /// The index of the column.
    public var column: Int
    /// Whether smaller values come first.
    public var isAscending: Bool
    /// The differences between texts to ignore.
    public var options: StringOptions
    /// The place of groups without a value.
    public var missingValues: MissingValuePlacement

    /// Makes a criterion for the column at an index.
    public init(
      column: Int, isAscending: Bool = true, options: StringOptions = [],
      missingValues: MissingValuePlacement = .smallest
    ) {
      self.column = column
      self.isAscending = isAscending
      self.options = options
      self.missingValues = missingValues
    }
  }

  /// Makes a query, for tests of stores. Core makes the queries of requests.
  public init(
    records: StoreQuery, keys: [PropertyPath] = [], aggregates: [AggregateExpression] = [],
    columns: [GroupColumnSource] = [],
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

  /// Returns the column for a path of the having predicate; `nil` for any other path.
  public func column(at path: PropertyPath) -> GroupColumnSource? {
    guard path.names.count == 1, let index = Int(path.names[0]), columns.indices.contains(index) else { return nil }
    return columns[index]
  }
}

/// The groups that a store has computed, with the parts of the query that it applied.
public struct StoreGroups: Sendable {
  /// The values of all groups, group after group: the keys, then the aggregates.
  ///
  /// The key of a to-one relationship is a reference. A sum of integers or decimals out of the range of its type is the
  /// nearest double. The sum of infinities of both signs is null.
  public var values: [AttributeValue]
  /// Whether every group satisfies the having predicate. Otherwise Core filters the groups.
  public var isHavingExact: Bool
  /// Whether the groups are in the query's order. Otherwise Core sorts them.
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
