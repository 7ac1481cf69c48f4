import CoherenceCore

extension DifferentialWorld {
  /// Runs a step that fetches records by a condition.
  func query(_ action: DifferentialOperation.Action, _ index: Int) throws -> DifferentialOutcome {
    let context = contexts[index]
    switch action {
    case .fetch(let query):
      return DifferentialOutcome(hold(try context.fetch(try query.request(in: model, value: value(of:))), index))
    case .count(let query):
      return DifferentialOutcome("\(try context.count(for: try query.request(in: model, value: value(of:))))")
    case .aggregate(let query):
      return try aggregate(try query.aggregateRequest(in: model, value: value(of:)), context)
    case .filter(let name, let relationship, let query):
      return try filter(name, relationship, try query.predicate(in: model, value: value(of:)), index)
    case .updateBatch(let query, let values):
      let request = BatchUpdateRequest(
        entityName: query.entity, predicate: try query.predicate(in: model, value: value(of:)), values: [:])
      return try sorted { try context.execute(request.setting(values)) }
    case .deleteBatch(let query):
      let request = BatchDeleteRequest(
        entityName: query.entity, predicate: try query.predicate(in: model, value: value(of:)))
      return try sorted { try context.execute(request) }
    default: return DifferentialOutcome("done")
    }
  }

  /// The rows of an aggregate request, with the names of the columns.
  private func aggregate(
    _ request: AggregateRequest<ManagedObject>, _ context: ManagedObjectContext
  ) throws -> DifferentialOutcome {
    let rows = try context.fetchDictionaries(request).map { row in
      row.sorted { $0.key < $1.key }.map { "\($0.key): " + DifferentialText.text($0.value, name: name) }
        .joined(separator: ", ")
    }
    // Objects are ordered by their keys, which every store allocates in its own way.
    let entity = try model.entity(named: request.records.entityName ?? "")
    let hasObjects = try request.propertiesToGroupBy.contains { path in
      if case .attribute = try ResolvedPath(PropertyPath(path), from: entity).target { false } else { true }
    }
    return DifferentialOutcome(hasObjects ? rows.sorted() : rows)
  }

  private func value(of name: String) -> AttributeValue { ids[name].map(AttributeValue.reference) ?? .null }

  private func filter(
    _ name: String, _ relationship: String, _ predicate: FetchPredicate, _ index: Int
  ) throws -> DifferentialOutcome {
    let owner = try object(name, index)
    let isOrdered = owner.entity.relationship(named: relationship)?.isOrdered == true
    let found =
      isOrdered
      ? try owner[OrderedToManyKey<ManagedObject>(relationship)].filtered(predicate)
      : try owner[ToManyKey<ManagedObject>(relationship)].filtered(predicate)
    return DifferentialOutcome(hold(found, index))
  }

  /// Runs a batch request, and returns the names of its records, sorted because their order is not guaranteed.
  private func sorted(_ execute: () throws -> [ManagedObjectID]) throws -> DifferentialOutcome {
    DifferentialOutcome(try execute().map(name).sorted())
  }
}

extension BatchUpdateRequest {
  fileprivate func setting(_ values: [DifferentialOperation.PropertyValue]) -> BatchUpdateRequest {
    var request = self
    for value in values { request.values[value.property] = value.value }
    return request
  }
}
