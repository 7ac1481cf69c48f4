import CoherenceCore
import HashTreeCollections

extension InMemoryState {
  /// The keys of the candidates for a query's predicate, found by an index; `nil` if only a scan finds them.
  ///
  /// An index finds candidates for a predicate, or for a part of a conjunction, of one of two forms: the record is one
  /// of given records, or its attribute with a uniqueness constraint on it alone or a lookup index has one of given
  /// values. Instead of the record, a predicate may name a record to which a path of to-one relationships leads.
  func candidates(for query: StoreQuery) -> Set<Int64>? { leastCandidates(for: query)?.keys }

  /// The smallest set of candidates that an index finds, with the path of the index; see ``candidates(for:)``.
  func leastCandidates(for query: StoreQuery) -> (path: PropertyPath, keys: Set<Int64>)? {
    guard let predicate = query.predicate else { return nil }
    var least: (path: PropertyPath, keys: Set<Int64>)?
    for (path, values) in predicate.requirements {
      guard let keys = candidates(at: path, among: values, from: query.entity) else { continue }
      if keys.count < least?.keys.count ?? Int.max { least = (path, keys) }
    }
    return least
  }

  /// The keys of the records of an entity at whose path an index finds one of the values; `nil` without an index.
  private func candidates(at path: PropertyPath, among values: [AttributeValue], from entity: EntityDescription)
    -> Set<Int64>?
  {
    guard let resolved = try? ResolvedPath(path, from: entity) else { return nil }
    var route = resolved.steps
    let targets: Set<Int64>?
    switch resolved.target {
    case .identity:
      targets = keys(of: values, in: (route.last?.destination ?? entity).root)
    case .toOne(let relationship):
      route.append(relationship)
      targets = keys(of: values, in: relationship.destination.root)
    case .attribute(let attribute):
      targets = holders(of: values, in: attribute, of: route.last?.destination ?? entity)
    case .toMany, .aggregate:
      return nil
    }
    guard let targets else { return nil }
    // From the end of the path back to the fetched entity.
    return route.reversed().reduce(targets) { keys, relationship in
      keys.reduce(into: []) { sources, key in sources.formUnion(referrers(to: key, by: relationship)) }
    }
  }

  /// The keys of the records with given values of an attribute; `nil` for an attribute without a uniqueness constraint
  /// on it alone and without a lookup index, and for a value that no index has.
  private func holders(
    of values: [AttributeValue], in attribute: AttributeDescription, of entity: EntityDescription
  ) -> Set<Int64>? {
    // A fractional number equals numbers of other types too, which an index by value does not find. Missing values are
    // not indexed.
    guard values.allSatisfy(attribute.type.hasOnly) else { return nil }
    if let constraint = schema.constraints(of: entity).first(where: { $0.slots == [attribute.slot] }) {
      return Set(values.compactMap { holders[constraint.number][[$0]] })
    }
    guard let lookup = schema.lookups(of: entity).first(where: { $0.slot == attribute.slot }) else { return nil }
    return values.reduce(into: []) { keys, value in keys.formUnion(keysByValue[lookup.number][value] ?? []) }
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
