import CoherenceCore

extension InMemoryState {
  /// The keys of all records that can satisfy a query's predicate, where an index tells; `nil` where only a scan does.
  ///
  /// An index tells when the predicate, or one part of a conjunction, asks that the record itself, or a record reached
  /// over to-one relationships, is a given one or one of several.
  func candidates(for query: StoreQuery) -> Set<Int64>? {
    guard let predicate = query.predicate else { return nil }
    var smallest: Set<Int64>?
    for condition in predicate.conjuncts {
      guard let (path, values) = condition.requiredIdentity,
        let keys = candidates(at: path, among: values, from: query.entity)
      else { continue }
      if keys.count < smallest?.count ?? Int.max { smallest = keys }
    }
    return smallest
  }

  private func candidates(at path: PropertyPath, among values: [AttributeValue], from entity: EntityDescription)
    -> Set<Int64>?
  {
    guard let resolved = try? ResolvedPath(path, from: entity) else { return nil }
    var route = resolved.steps
    switch resolved.target {
    case .identity: break
    case .toOne(let relationship): route.append(relationship)
    case .attribute, .toMany: return nil
    }
    guard let targets = keys(of: values, in: (route.last?.destination ?? entity).root) else { return nil }
    // From the end of the path back to the fetched entity.
    return route.reversed().reduce(targets) { keys, relationship in
      keys.reduce(into: []) { sources, key in sources.formUnion(referrers(to: key, by: relationship)) }
    }
  }

  /// The keys of identifiers; those of other stores are nobody's here. `nil` when a value is no identifier: a missing
  /// value is in no index.
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

extension FetchPredicate {
  /// The conditions that all have to hold.
  fileprivate var conjuncts: [FetchPredicate] {
    guard case .and(let parts) = self else { return [self] }
    return parts.flatMap(\.conjuncts)
  }

  /// What the condition asks for when it is that a property has one of some values.
  fileprivate var requiredIdentity: (PropertyPath, [AttributeValue])? {
    switch self {
    case .comparison(.path(let path), .equal, .value(let value), _): (path, [value])
    case .comparison(.value(let value), .equal, .path(let path), _): (path, [value])
    case .membership(.path(let path), in: let values, _): (path, values)
    default: nil
    }
  }
}
