/// The execution of a fetch request by a context and its stores: the statements, the parts that the context evaluates
/// itself, and the stores' own plans.
///
/// ``ManagedObjectContext/explain(_:)`` returns it. An explanation contains no constant of the request and no value of
/// a record, so that it may be logged. Only a limit, and the length of a searched text, may be numbers in a statement.
/// May be passed to any thread.
public struct FetchExplanation: Sendable, Hashable {
  /// The place where a part of a request is evaluated.
  public enum Place: String, Sendable, Hashable {
    /// The request has no such part.
    case nowhere
    /// Every store evaluates the part.
    case store
    /// The context evaluates the part over the records that the stores return.
    case context
  }

  /// The influence of unsaved changes on the fetch.
  public enum UnsavedChanges: String, Sendable, Hashable {
    /// No unsaved change matters.
    case none
    /// The context overlays its unsaved records over the records of the stores. It also evaluates a few saved records
    /// about which unsaved changes of other records decide: the owners of unsaved members, and the records whose path
    /// leads to an unsaved record.
    case merged
    /// Unsaved changes of other records may decide whether any record is found: the stores return every record of the
    /// entity. This is the case for more than 200 unsaved related records, for more than 500 records that depend on
    /// unsaved changes, and for changes at the end of several to-many relationships or of links.
    case decisive
  }

  /// The explanation of one store.
  public struct Store: Sendable, Hashable {
    /// The name of the store's type.
    public var typeName: String
    /// Whether the store has explained the query itself. Otherwise the explanation only says which parts the store
    /// applies.
    public var isExplainedByStore: Bool
    /// The explanation.
    public var query: QueryExplanation
  }

  /// The name of the request's entity.
  public var entityName: String
  /// The place where the predicate is evaluated: the context, if it evaluates any part of the predicate.
  public var predicate: Place
  /// The place where the records are ordered.
  public var order: Place
  /// The place where limit and offset are applied.
  public var range: Place
  /// The criteria of the order as text. The last criterion is the key.
  public var orderText: [String]
  /// The influence of unsaved changes on the fetch.
  public var unsavedChanges: UnsavedChanges
  /// Whether a stream of the request reads its records a batch at a time. Otherwise the stream reads all records at its
  /// beginning.
  public var streamsInBatches: Bool
  /// The explanations of the stores that hold the entity.
  public var stores: [Store]
}

extension FetchExplanation: CustomStringConvertible {
  /// The explanation as text of several lines.
  public var description: String {
    var lines = ["Fetch of '\(entityName)'"]
    let criteria = orderText.joined(separator: ", ")
    lines.append("predicate: \(predicate.rawValue); order: \(order.rawValue) (\(criteria)); range: \(range.rawValue)")
    let reading = streamsInBatches ? "in batches" : "after reading all records"
    lines.append("unsaved changes: \(unsavedChanges.rawValue); streams: \(reading)")
    for store in stores { lines += store.lines.map { "  " + $0 } }
    return lines.joined(separator: "\n")
  }
}

extension FetchExplanation.Store {
  fileprivate var lines: [String] {
    var lines = ["store of type '\(typeName)'" + (isExplainedByStore ? "" : ", which does not explain its plan")]
    if let statement = query.statement {
      lines.append("  statement, with \(query.valueCount) values: \(statement)")
    }
    for part in query.residuals {
      lines.append(
        "  \(part.isOrder ? "order" : "condition") left to the context: \(part.text) (\(part.reason.sentence))")
    }
    for step in query.steps { lines += step.lines.map { "  " + $0 } }
    return lines
  }
}

extension ResidualPart.Reason {
  /// The reason as a clause.
  fileprivate var sentence: String {
    switch self {
    case .pattern: "the store has no pattern of that meaning"
    case .textOptions: "the store cannot ignore the differences of texts"
    case .types: "the store does not compare the types exactly"
    case .aggregate: "the store does not compute the aggregate exactly"
    case .tooManyValues: "the store does not take so many values"
    case .tooDeep: "the store does not take so deep a condition"
    case .noEquivalent: "the store has no exact equivalent"
    }
  }
}

extension QueryStep {
  fileprivate var lines: [String] {
    var line = operation
    if let table { line += " of \(table)" }
    if let index { line += " by index \(index)" }
    if let estimatedRecords { line += ", \(Int(clamping: estimatedRecords)) records expected" }
    if let estimatedCost { line += ", cost \(estimatedCost)" }
    return [line] + steps.flatMap(\.lines).map { "  " + $0 }
  }
}

extension Int {
  fileprivate init(clamping value: Double) {
    self = Int(exactly: value.rounded()) ?? (value > 0 ? .max : 0)
  }
}
