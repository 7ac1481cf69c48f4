import CoherenceCore

/// A random fetch. The seed, the model and the names of objects determine its condition, order and range.
struct RandomQuery: Sendable {
  var entity: String
  var seed: UInt64
  /// The names of the objects for the conditions.
  var objects: [String]

  /// Returns the complete request.
  ///
  /// - Parameter value: Returns the value that represents an object; null for a missing object.
  func request(in model: ManagedObjectModel, value: (String) -> AttributeValue) throws -> FetchRequest<ManagedObject> {
    let entity = try model.entity(named: entity)
    var request = FetchRequest<ManagedObject>(entityName: entity.name)
    var random = SplitMix64(seed: seed)
    request.includesSubentities = !random.chance(12)
    request.includesPendingChanges = !random.chance(10)
    request.returnsObjectsAsFaults = random.chance(15)
    if random.chance(25) { request.fetchLimit = random.number(0...4) }
    if random.chance(20) { request.fetchOffset = random.number(0...3) }
    let relationships = entity.relationships.map(\.name)
    if !relationships.isEmpty, random.chance(10) { request.relationshipsForPrefetching = [random.pick(relationships)] }
    let hasPredicate = random.chance(80)
    withConditions(random, value) { conditions in
      if hasPredicate { request.predicate = conditions.predicate(on: entity, depth: 3) }
      request.sortKeys = conditions.sortKeys(on: entity)
    }
    return request
  }

  /// The condition alone.
  func predicate(in model: ManagedObjectModel, value: (String) -> AttributeValue) throws -> FetchPredicate {
    let entity = try model.entity(named: entity)
    return withConditions(SplitMix64(seed: seed), value) { $0.predicate(on: entity, depth: 3) }
  }

  private func withConditions<T>(
    _ random: SplitMix64, _ value: (String) -> AttributeValue, _ body: (inout RandomCondition) -> T
  ) -> T {
    withoutActuallyEscaping(value) { value in
      var conditions = RandomCondition(
        random: random, object: { value(objects[$0]) }, objectCount: objects.count)
      return body(&conditions)
    }
  }
}
