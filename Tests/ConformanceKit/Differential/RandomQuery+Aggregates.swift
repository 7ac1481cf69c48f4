import CoherenceCore
import Foundation

extension RandomQuery {
  /// The aggregate request: of the records of the fetch, with group keys, aggregates, a condition and an order.
  ///
  /// - Parameter value: Returns the value that represents an object; null for an unknown object.
  func aggregateRequest(
    in model: ManagedObjectModel, value: (String) -> AttributeValue
  ) throws -> AggregateRequest<ManagedObject> {
    let entity = try model.entity(named: entity)
    var records = try request(in: model, value: value)
    records.relationshipsForPrefetching = []
    // Mostly the whole result of the fetch: a range is left to the context.
    var random = SplitMix64(seed: seed ^ 0x9E37_79B9)
    if random.chance(80) { (records.fetchLimit, records.fetchOffset) = (nil, 0) }
    var conditions = RandomCondition(random: random, object: { _ in .null }, objectCount: 0)
    return conditions.aggregateRequest(of: records, entity)
  }
}

extension RandomCondition {
  mutating func aggregateRequest(
    of records: FetchRequest<ManagedObject>, _ entity: EntityDescription
  ) -> AggregateRequest<ManagedObject> {
    let keys = (0..<random.number(0...2)).map { _ in groupKey(of: entity) }
    let aggregates = (0..<random.number(1...3)).map { _ in aggregate(of: entity) }
    var columns: [ResultColumn] = []
    for path in keys + aggregates where !columns.contains(where: { $0.name == path }) {
      columns.append(ResultColumn(expression: path))
    }
    var request = AggregateRequest(records, propertiesToGroupBy: keys, propertiesToFetch: columns)
    if random.chance(30) { request.havingPredicate = having(keys, aggregates, entity) }
    let hasObjects = keys.contains { path in
      if case .attribute? = try? ResolvedPath(PropertyPath(path), from: entity).target { false } else { true }
    }
    guard !hasObjects else { return request }
    request.sortKeys = random.some(columns, upTo: 2).map { SortKey($0.name, random.chance(50) ? .forward : .reverse) }
    if random.chance(30) { (request.fetchLimit, request.fetchOffset) = (random.number(0...3), random.number(0...2)) }
    return request
  }

  private mutating func groupKey(of entity: EntityDescription) -> String {
    let (path, owner) = path(from: entity)
    let toOnes = Self.relationships(of: owner, toMany: false)
    let toManys = Self.relationships(of: owner, toMany: true)
    let name: String
    if !toOnes.isEmpty, random.chance(20) {
      name = random.pick(toOnes).name
    } else if !toManys.isEmpty, random.chance(15) {
      name = random.pick(toManys).name + ".@count"
    } else {
      name = random.pick(Self.attributes(of: owner)).name
    }
    return (path + [name]).joined(separator: ".")
  }

  private mutating func aggregate(of entity: EntityDescription) -> String {
    if random.chance(15) { return "@count" }
    let (path, owner) = path(from: entity)
    let attribute = random.pick(Self.attributes(of: owner))
    var functions: [AggregateFunction] = [.count, .countDistinct, .minimum, .maximum]
    switch attribute.type.storage {
    // Sums of floating-point numbers depend on the order of the store.
    case .int16, .int32, .int64, .decimal: functions += [.sum, .average, .sum, .average]
    default: break
    }
    return ([random.pick(functions).pathOperator] + path + [attribute.name]).joined(separator: ".")
  }

  private mutating func having(_ keys: [String], _ aggregates: [String], _ entity: EntityDescription) -> FetchPredicate
  {
    let count = FetchPredicate.comparison(
      .path(PropertyPath("@count")), ordering(), .value(.int(Int64(random.number(0...3)))))
    let path = PropertyPath(random.pick(keys + aggregates))
    let presence = FetchPredicate.comparison(
      .path(path), random.chance(50) ? .equal : .notEqual, .value(.null))
    return random.chance(50) ? .or([count, presence]) : .and([count, presence])
  }
}
