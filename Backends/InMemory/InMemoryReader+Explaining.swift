import CoherenceCore
import HashTreeCollections

extension InMemoryReader: QueryExplaining {
  /// Describes the fetch of ``InMemoryState/rows(for:)``: candidates, filter, order and range, the outermost step
  /// first.
  func explain(_ query: StoreQuery) throws -> QueryExplanation {
    let state = try state()
    let name = query.entity.root.name
    // The preparation throws for an invalid predicate or order, as the fetch does.
    let predicate = try query.predicate.map { try PreparedPredicate($0, for: query.entity) }
    if !query.sortKeys.isEmpty { _ = try PreparedOrder(query.sortKeys, for: query.entity) }
    let total = try state.table(of: query.entity).count
    var step = QueryStep("Scan", table: name, estimatedRecords: Double(total))
    if let (path, keys) = state.leastCandidates(for: query) {
      step = QueryStep("Search", table: name, index: path.description, estimatedRecords: Double(keys.count))
      if path.names.isEmpty { step.index = "key" }
    }
    if predicate != nil { step = QueryStep("Filter", steps: [step]) }
    step = QueryStep("Sort", steps: [step])
    if query.limit != nil || query.offset > 0 { step = QueryStep("Range", steps: [step]) }
    return QueryExplanation(isPredicateExact: true, isOrderExact: true, isRangeExact: true, steps: [step])
  }
}
