/// A reader that explains how its store runs a query, without returning records.
///
/// For a reader without the refinement, Core begins the fetch, reads from ``StoreFetch`` which parts the store applies
/// exactly, and closes the cursor before the first row.
public protocol QueryExplaining: StoreReader {
  /// Explains a query.
  ///
  /// The explanation describes the fetch of ``StoreReader/fetch(_:)``, and contains no constant of the query and no
  /// value of a record.
  ///
  /// - Throws: As ``StoreReader/fetch(_:)``.
  func explain(_ query: StoreQuery) throws -> QueryExplanation
}

/// The explanation of a query by one store.
public struct QueryExplanation: Sendable, Hashable {
  /// Whether the store itself applies the whole predicate; see ``StoreFetch/isPredicateExact``.
  public var isPredicateExact: Bool
  /// Whether the store returns the records in the query's order; see ``StoreFetch/isOrderExact``.
  public var isOrderExact: Bool
  /// Whether the store applies limit and offset; see ``StoreFetch/isRangeExact``.
  public var isRangeExact: Bool
  /// The statement in the store's language, with marks in place of values; `nil` for a store without statements.
  public var statement: String?
  /// The number of values of the statement.
  public var valueCount: Int
  /// The parts of the query that the store leaves to the context.
  public var residuals: [ResidualPart]
  /// The store's own plan, the outermost step first; empty for a store without plans.
  public var steps: [QueryStep]

  /// Makes an explanation, for stores.
  public init(
    isPredicateExact: Bool, isOrderExact: Bool, isRangeExact: Bool, statement: String? = nil, valueCount: Int = 0,
    residuals: [ResidualPart] = [], steps: [QueryStep] = []
  ) {
    self.isPredicateExact = isPredicateExact
    self.isOrderExact = isOrderExact
    self.isRangeExact = isRangeExact
    self.statement = statement
    self.valueCount = valueCount
    self.residuals = residuals
    self.steps = steps
  }
}

/// A part of a query that a store leaves to the context, with the reason.
public struct ResidualPart: Sendable, Hashable {
  /// The reason why a store leaves a part of a query to the context.
  public enum Reason: String, Sendable, Hashable, CaseIterable {
    /// The store has no pattern or regular expression of that meaning.
    case pattern
    /// The store cannot ignore case or diacritics as the framework does.
    case textOptions
    /// The store does not compare values of the two types by their exact values.
    case types
    /// The store does not compute the aggregate of members exactly.
    case aggregate
    /// The part has more values than the store takes, or takes quickly.
    case tooManyValues
    /// The part is nested deeper than the store allows.
    case tooDeep
    /// The store has no exact equivalent for another reason.
    case noEquivalent
  }

  /// Whether the part is a criterion of the order. Otherwise it is a condition.
  public var isOrder: Bool
  /// The part as text, with a question mark in place of each constant.
  public var text: String
  /// The reason.
  public var reason: Reason

  /// Makes a part from a condition.
  public init(_ condition: FetchPredicate, _ reason: Reason) {
    isOrder = false
    text = condition.textWithoutValues
    self.reason = reason
  }

  /// Makes a part from a criterion of the order.
  public init(_ key: SortKey, _ reason: Reason) {
    isOrder = true
    text = key.description
    self.reason = reason
  }
}

/// A step of a store's plan, with the steps whose results it uses.
public struct QueryStep: Sendable, Hashable {
  /// The operation in the store's own words, such as `SEARCH` or `Index Scan`.
  public var operation: String
  /// The table that the step reads, or its name in the statement; `nil` for none.
  public var table: String?
  /// The index that the step uses; `nil` for none.
  public var index: String?
  /// The store's estimate of the number of records; `nil` without an estimate.
  public var estimatedRecords: Double?
  /// The store's estimate of the cost, in the store's own unit; `nil` without an estimate.
  public var estimatedCost: Double?
  /// The steps whose results the step uses.
  public var steps: [QueryStep]

  /// Makes a step, for stores.
  public init(
    _ operation: String, table: String? = nil, index: String? = nil, estimatedRecords: Double? = nil,
    estimatedCost: Double? = nil, steps: [QueryStep] = []
  ) {
    self.operation = operation
    self.table = table
    self.index = index
    self.estimatedRecords = estimatedRecords
    self.estimatedCost = estimatedCost
    self.steps = steps
  }
}
