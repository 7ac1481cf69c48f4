import CoherenceCore

// The phrases in which cases about aggregates are written.

/// An aggregate request of an entity by name.
func aggregate(
  _ entity: String, by keys: [String] = [], _ columns: [ResultColumn], where predicate: FetchPredicate? = nil
) -> AggregateRequest<ManagedObject> {
  var records = FetchRequest<ManagedObject>(entityName: entity)
  records.predicate = predicate
  return AggregateRequest(records, propertiesToGroupBy: keys, propertiesToFetch: columns)
}

extension AggregateRequest {
  /// The request with a condition on groups, an order, or a range.
  func changed(_ change: (inout AggregateRequest) throws -> Void) rethrows -> AggregateRequest {
    var request = self
    try change(&request)
    return request
  }
}

extension ManagedObjectContext {
  /// The rows of a request as texts, in its order: the values of its columns, separated by bars.
  func table(_ request: AggregateRequest<ManagedObject>) throws -> [String] {
    try fetchDictionaries(request).map { row in
      try request.propertiesToFetch.map { column in
        DifferentialText.text(try unwrap(row[column.name], "the column '\(column.name)'"))
      }.joined(separator: " | ")
    }
  }
}

extension ConformanceCase {
  /// Makes a case for a store's own aggregates, and the same case for aggregates that a context computes from the
  /// records.
  static func computed(
    _ name: String, model: ManagedObjectModel = Music.model,
    run: @escaping @Sendable (ConformanceStack) throws -> Void
  ) -> [ConformanceCase] {
    [
      ConformanceCase(name, model: model) { try run($0) },
      ConformanceCase(name + ", computed from records", model: model) { stack in
        // The store in between has no aggregates.
        _ = try stack.interpose()
        try run(stack)
      },
    ]
  }
}
