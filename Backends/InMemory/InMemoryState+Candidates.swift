import CoherenceCore
import HashTreeCollections

extension InMemoryState {
  /// The keys of the candidates for a query's predicate, found by indexes; `nil` if only a scan finds them.
  ///
  /// An index applies if the predicate, or one part of a conjunction, requires one of these for the record itself or
  /// for a record at the end of to-one relationships: that it is one of given records, or that an attribute with a
  /// uniqueness constraint or a lookup index has one of given values.
  func candidates(for query: StoreQuery) -> Set<Int64>? { leastCandidates(for: query)?.keys }

  /// The least candidates that an index finds, with the path of the index; see ``candidates(for:)``.
  func leastCandidates(for query: StoreQuery) -> (path: PropertyPath, keys: Set<Int64>)? {
    guard let predicate = query.predicate else { return nil }
    var least: (path: PropertyPath, keys: Set<Int64>)?
    for (path, values) in predicate.requirements {
      guard let keys = candidates(at: path, among: values, from: query.entity) else { continue }
      if keys.count < least?.keys.count ?? Int.max { least = (path, keys) }
    }
    return least
  }

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
  /// and without a lookup index.
  private func holders(
    of values: [AttributeValue], in attribute: AttributeDescription, of entity: EntityDescription
  ) -> Set<Int64>? {
    guard values.allSatisfy(attribute.type.hasOnly) else { return nil }
    if let constraint = schema.constraints(of: entity).first(where: { $0.slots == [attribute.slot] }) {
      return Set(values.compactMap { holders[constraint.number][[$0]] })
    }
    guard let lookup = schema.lookups(of: entity).first(where: { $0.slot == attribute.slot }) else { return nil }
    return values.reduce(into: []) { keys, value in keys.formUnion(keysByValue[lookup.number][value] ?? []) }
  }

  /// The keys of identifiers, without identifiers of other stores. `nil` if a value is not an identifier, because
  /// indexes have no missing values.
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
