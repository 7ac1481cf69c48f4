import Logging

// The beginning of the reads of requests. Each read logs the parts that the store leaves to the context: such a read
// costs more, and a user may choose another condition or order.

extension ManagedObjectContext {
  /// Begins a fetch in a store, and logs the parts of the query that the store leaves to the context.
  final func beginFetch(_ query: StoreQuery, from reader: any StoreReader) throws -> StoreFetch {
    let fetch = try reader.fetch(query)
    if !fetch.isExact {
      logResiduals(
        of: query.entity,
        [
          "condition": FetchExplanation.Place(isAsked: query.predicate != nil, isExact: fetch.isPredicateExact),
          "order": FetchExplanation.Place(isAsked: true, isExact: fetch.isOrderExact),
          "range": FetchExplanation.Place(
            isAsked: query.limit != nil || query.offset > 0, isExact: fetch.isRangeExact),
        ])
    }
    return fetch
  }

  /// Computes groups in a store, and logs the parts of the query that the store leaves to the context.
  ///
  /// - Returns: `nil` if the store cannot compute the groups.
  final func computeGroups(_ query: AggregateQuery, by reader: any StoreReader) throws -> StoreGroups? {
    let groups = try (reader as? any Aggregating)?.aggregate(query)
    logResiduals(
      of: query.records.entity,
      [
        "groups": FetchExplanation.Place(isAsked: true, isExact: groups != nil),
        "having": FetchExplanation.Place(isAsked: query.having != nil, isExact: groups?.isHavingExact == true),
        "order": FetchExplanation.Place(isAsked: !query.order.isEmpty, isExact: groups?.isOrderExact == true),
        "range": FetchExplanation.Place(
          isAsked: query.limit != nil || query.offset > 0, isExact: groups?.isRangeExact == true),
      ])
    return groups
  }

  /// Logs the places of the parts of a request, unless the store evaluates all of them.
  private final func logResiduals(
    of entity: EntityDescription, _ places: KeyValuePairs<String, FetchExplanation.Place>
  ) {
    guard places.contains(where: { $0.value == .context }) else { return }
    var metadata: Logger.Metadata = ["entity": "\(entity.name)"]
    for (part, place) in places { metadata[part] = Logger.MetadataValue.string(place.rawValue) }
    logger.debug(
      "A store leaves a part of a request to the context; `explain` of the request describes the part.",
      metadata: metadata)
  }
}

extension FetchExplanation.Place {
  /// - Parameters:
  ///   - isAsked: Whether the request has the part.
  ///   - isExact: Whether the store evaluates the part.
  fileprivate init(isAsked: Bool, isExact: Bool) { self = !isAsked ? .nowhere : isExact ? .store : .context }
}
