import CoherenceCore
import HashTreeCollections

extension InMemoryState {
  /// The keys of the candidates for a query's predicate, where an index knows them; `nil` where only a scan does.
  ///
  /// An index tells when the predicate, or one part of a conjunction, asks that the record itself, or a record reached
  /// over to-one relationships, is a given one or one of several, or has one of some values in an attribute that is unique
  /// or that fetches look records up by.
  func candidates(for query: StoreQuery) -> Set<Int64>? {
    guard let predicate = query.predicate else { return nil }
    var smallest: Set<Int64>?
    for (path, values) in predicate.requirements {
      guard let keys = candidates(at: path, among: values, from: query.entity) else { continue }
      if keys.count < smallest?.count ?? Int.max { smallest = keys }
    }
    return smallest
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
    case .toMany:
      return nil
    }
    guard let targets else { return nil }
    // From the end of the path back to the fetched entity.
    return route.reversed().reduce(targets) { keys, relationship in
      keys.reduce(into: []) { sources, key in sources.formUnion(referrers(to: key, by: relationship)) }
    }
  }

  /// The keys of the records that have values of an attribute; `nil` unless a constraint keeps the attribute unique or
  /// fetches look records up by it.
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

  /// The keys of identifiers; those of other stores lead to no record here. `nil` when a value is no identifier: a
  /// missing value is in no index.
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
