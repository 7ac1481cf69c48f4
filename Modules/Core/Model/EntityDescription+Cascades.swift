extension EntityDescription {
  /// Whether the entity satisfies a condition, or an entity to which the rule ``DeleteRule/cascade`` leads from records
  /// of its hierarchy.
  package func reachesByCascades(_ isSatisfied: (EntityDescription) -> Bool) -> Bool {
    var visited: Set<EntityDescription> = []
    var unvisited = [self]
    while let entity = unvisited.popLast() {
      guard visited.insert(entity).inserted else { continue }
      if isSatisfied(entity) { return true }
      for concrete in entity.concreteEntities {
        for cascade in concrete.relationships where cascade.deleteRule == .cascade {
          unvisited.append(cascade.destination)
        }
      }
    }
    return false
  }
}
