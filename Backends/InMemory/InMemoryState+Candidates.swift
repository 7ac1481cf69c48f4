import CoherenceCore
import HashTreeCollections

/// A search of an index, which finds the records with one of some values. The candidates of a predicate are the records
/// from which the route leads to a found record.
private struct IndexSearch {
  /// The path of the predicate, for explanations of queries.
  let path: PropertyPath
  /// The to-one relationships from the fetched entity to the found records.
  var route: [RelationshipDescription]
  /// The keys of the found records, besides the keys in ``sets``.
  var keys: Set<Int64> = []
  /// The keys of the found records as sets of the index, which a comparison of searches does not read.
  var sets: [TreeSet<Int64>] = []

  /// The number of found records.
  var count: Int { sets.reduce(keys.count) { $0 + $1.count } }
  /// Whether the indexes have the number of candidates, so that a comparison of searches collects no keys.
  var isCounted: Bool { route.isEmpty || (route.count == 1 && sets.isEmpty) }
}

extension InMemoryState {
  /// The keys of the candidates for a query's predicate, found by an index; `nil` if only a scan finds them.
  ///
  /// An index finds candidates for a predicate, or for a part of a conjunction, of one of two forms: the record is one
  /// of given records, or its attribute with a uniqueness constraint on it alone or a lookup index has one of given
  /// values. Instead of the record, a predicate may name a record to which a path of to-one relationships leads. A
  /// conjunction may also give each attribute of a uniqueness constraint a value. A disjunction has the candidates of
  /// all of its parts, if indexes find them.
  func candidates(for query: StoreQuery) -> Set<Int64>? { leastCandidates(for: query)?.keys }

  /// The candidates for a query's predicate, with the path of their search; `nil` if only a scan finds them. A
  /// disjunction has the path of its first part. See ``candidates(for:)``.
  func leastCandidates(for query: StoreQuery) -> (path: PropertyPath, keys: Set<Int64>)? {
    query.predicate.flatMap { leastCandidates(for: $0, from: query.entity) }
  }

  /// The candidates of all parts of a disjunction; for another predicate, the candidates of the cheapest search.
  ///
  /// The searches are compared by the numbers in the indexes, before any keys are collected: an indexed attribute may
  /// have the same value in all records, whose keys would cost as much as a scan. The number of candidates behind a
  /// long route is unknown. If another search has found candidates, such a search is made only if it begins at fewer
  /// records, and ends without a result when it reaches as many.
  private func leastCandidates(
    for predicate: FetchPredicate, from entity: EntityDescription
  ) -> (path: PropertyPath, keys: Set<Int64>)? {
    if case .or(let parts) = predicate { return candidates(forAnyOf: parts, from: entity) }
    let requirements = predicate.requirements
    var searches = requirements.compactMap { search(at: $0.path, among: $0.values, from: entity) }
    if let search = constraintSearch(for: requirements, of: entity) { searches.append(search) }
    let counted = searches.filter(\.isCounted).map { (search: $0, count: count(of: $0)) }
    let fewest = counted.min { $0.count < $1.count }?.search
    var least = fewest.map { (path: $0.path, keys: keys(of: $0)) }
    for search in searches.filter({ !$0.isCounted }).sorted(by: { $0.count < $1.count }) {
      guard let limit = least?.keys.count else {
        least = (search.path, keys(of: search))
        continue
      }
      guard search.count < limit, let found = keys(of: search, fewerThan: limit) else { continue }
      least = (search.path, found)
    }
    return least
  }

  /// The candidates of all parts of a disjunction; `nil` if only a scan finds the candidates of a part.
  private func candidates(
    forAnyOf parts: [FetchPredicate], from entity: EntityDescription
  ) -> (path: PropertyPath, keys: Set<Int64>)? {
    var path: PropertyPath?
    var keys: Set<Int64> = []
    for part in parts {
      guard let found = leastCandidates(for: part, from: entity) else { return nil }
      path = path ?? found.path
      keys.formUnion(found.keys)
    }
    guard let path else { return nil }
    return (path, keys)
  }

  /// The keys of the records that a predicate, or a part of a conjunction, names by their identifiers; `nil` if it names
  /// none.
  func namedKeys(in predicate: FetchPredicate, of entity: EntityDescription) -> Set<Int64>? {
    for (path, values) in predicate.requirements {
      guard let resolved = try? ResolvedPath(path, from: entity), resolved.steps.isEmpty, resolved.target == .identity,
        let keys = keys(of: values, in: entity.root)
      else { continue }
      return keys
    }
    return nil
  }

  // MARK: Searches

  /// The search for the records of an entity at whose path an index finds one of the values; `nil` without an index.
  private func search(
    at path: PropertyPath, among values: [AttributeValue], from entity: EntityDescription
  ) -> IndexSearch? {
    guard let resolved = try? ResolvedPath(path, from: entity) else { return nil }
    var search = IndexSearch(path: path, route: resolved.steps)
    let end = resolved.steps.last?.destination ?? entity
    switch resolved.target {
    case .identity:
      guard let given = keys(of: values, in: end.root) else { return nil }
      search.keys = given
    case .toOne(let relationship):
      guard let given = keys(of: values, in: relationship.destination.root) else { return nil }
      search.route.append(relationship)
      search.keys = given
    case .attribute(let attribute):
      // A fractional number equals numbers of other types too, which an index by value does not find. Missing values
      // are not indexed.
      guard values.allSatisfy(attribute.type.hasOnly) else { return nil }
      if let constraint = schema.constraints(of: end).first(where: { $0.slots == [attribute.slot] }) {
        search.keys = Set(values.compactMap { holders[constraint.number][[$0]] })
      } else if let lookup = schema.lookups(of: end).first(where: { $0.slot == attribute.slot }) {
        search.sets = values.compactMap { keysByValue[lookup.number][$0] }
      } else {
        return nil
      }
    case .toMany, .aggregate:
      return nil
    }
    return search
  }

  /// The search for the record with given values of a uniqueness constraint over several attributes; `nil` unless the
  /// requirements give each of the attributes a single value.
  private func constraintSearch(
    for requirements: [(path: PropertyPath, values: [AttributeValue])], of entity: EntityDescription
  ) -> IndexSearch? {
    guard requirements.count > 1 else { return nil }
    var given: [Int: AttributeValue] = [:]
    for (path, values) in requirements where path.names.count == 1 && values.count == 1 {
      guard let attribute = entity.attribute(named: path.names[0]), attribute.type.hasOnly(values[0]) else { continue }
      given[attribute.slot] = values[0]
    }
    for constraint in schema.constraints(of: entity) where constraint.slots.count > 1 {
      let values = constraint.slots.compactMap { given[$0] }
      guard values.count == constraint.slots.count else { continue }
      let holder = holders[constraint.number][values]
      return IndexSearch(
        path: PropertyPath(names: [constraint.names[0]]), route: [], keys: Set([holder].compactMap { $0 }))
    }
    return nil
  }

  // MARK: Keys

  /// The number of candidates of a search whose candidates are counted.
  private func count(of search: IndexSearch) -> Int {
    guard let relationship = search.route.first else { return search.count }
    return search.keys.reduce(0) { count, key in
      let sources: TreeSet<Int64> = referrers(to: key, by: relationship)
      return count + sources.count
    }
  }

  /// The keys of the candidates that a search finds.
  private func keys(of search: IndexSearch) -> Set<Int64> { keys(of: search, fewerThan: .max) ?? [] }

  /// The keys of the candidates that a search over a route finds; `nil` if a step of the route leads to no fewer
  /// records than the limit.
  private func keys(of search: IndexSearch, fewerThan limit: Int) -> Set<Int64>? {
    var found = search.sets.reduce(into: search.keys) { $0.formUnion($1) }
    // From the end of the path back to the fetched entity.
    for relationship in search.route.reversed() {
      var sources: Set<Int64> = []
      for key in found {
        let referring: TreeSet<Int64> = referrers(to: key, by: relationship)
        guard sources.count + referring.count < limit else { return nil }
        sources.formUnion(referring)
      }
      found = sources
    }
    return found
  }

  /// The keys of identifiers, without identifiers of other stores. `nil` if a value is not an identifier: it may be the
  /// missing value, and no index has the records without a reference.
  private func keys(of values: [AttributeValue], in root: EntityDescription) -> Set<Int64>? {
    guard tables[ObjectIdentifier(root)] != nil else { return nil }
    let space = schema.spaces[root]
    var keys: Set<Int64> = []
    for value in values {
      guard case .reference(let id) = value else { return nil }
      if id.space === space { keys.insert(id.key) }
    }
    return keys
  }
}
