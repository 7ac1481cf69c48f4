import CoherenceCore
import Foundation

/// Random aggregate requests on ``Harbours``: up to three group keys, aggregates, conditions on records and on groups,
/// orders and ranges.
struct RandomGroups {
  private var random: SplitMix64
  /// The paths of the attributes, references and aggregates of members of the fetched entity.
  private var paths = Paths()

  init(_ random: SplitMix64) { self.random = random }

  /// The paths from an entity that a request may name.
  private struct Paths {
    var attributes: [String] = []
    /// Aggregates of members.
    var members: [String] = []
    /// To-one relationships.
    var references: [String] = []
  }

  private static let cargoPaths = Paths(
    attributes: RandomGroups.attributes(
      "Livestock",
      ["harbour.name", "harbour.isOpen", "harbour.depth", "harbour.fee", "harbour.region.title"]),
    members: [
      "crates.@count", "crates.@sum.mass", "crates.@sum.amount", "crates.@sum.worth", "crates.@avg.mass",
      "crates.@avg.worth", "crates.@max.mark", "crates.@min.packed", "crates.@distinctCount.mark",
      "harbour.cargoes.@count", "harbour.cargoes.@sum.units", "harbour.cargoes.@max.label",
    ], references: ["harbour", "harbour.region"])

  private static let cratePaths = Paths(
    attributes: RandomGroups.attributes(
      "Crate",
      [
        "cargo.label", "cargo.units", "cargo.serial", "cargo.reading", "cargo.price", "cargo.heads",
        "cargo.harbour.name", "cargo.harbour.region.title",
      ]),
    members: ["cargo.crates.@count", "cargo.crates.@sum.amount"], references: ["cargo", "cargo.harbour"])

  private static let harbourPaths = Paths(
    attributes: RandomGroups.attributes("Harbour", ["region.title"]),
    members: [
      "cargoes.@count", "cargoes.@sum.units", "cargoes.@sum.price", "cargoes.@max.pieces", "cargoes.@min.landed",
      "cargoes.@distinctCount.label", "region.harbours.@count",
    ], references: ["region"])

  private static func attributes(_ entity: String, _ others: [String]) -> [String] {
    (PlainRecords.attributes[entity] ?? []) + others
  }

  /// Returns the next request.
  mutating func request() -> AggregateRequest<ManagedObject> {
    let entity = random.weighted([(50, "Cargo"), (10, "Livestock"), (25, "Crate"), (15, "Harbour")])
    switch entity {
    case "Crate": paths = Self.cratePaths
    case "Harbour": paths = Self.harbourPaths
    default: paths = Self.cargoPaths
    }
    let keys = groupKeys()
    let columns = columns(keys)
    var request = AggregateRequest(records(of: entity), propertiesToGroupBy: keys, propertiesToFetch: columns)
    // Objects have an order of their own in every store.
    let hasReference = keys.contains { paths.references.contains($0) }
    let names = comparable(keys, columns)
    if random.chance(35) { request.havingPredicate = condition(on: names, depth: 2, valueType(columns)) }
    request.sortKeys = random.some(names, upTo: 2).map { SortKey($0, random.chance(50) ? .forward : .reverse) }
    if !hasReference, random.chance(35) {
      request.fetchLimit = random.chance(70) ? random.number(0...5) : nil
      request.fetchOffset = random.number(0...2)
    }
    return request
  }

  // MARK: Records

  private mutating func records(of entity: String) -> FetchRequest<ManagedObject> {
    var records = FetchRequest<ManagedObject>(entityName: entity)
    let types: (String) -> PlainType = { PlainRecords.valueType(at: PropertyPath($0).names[...]) }
    if random.chance(50) { records.predicate = condition(on: paths.attributes, depth: 2, types) }
    records.includesSubentities = !random.chance(15)
    records.includesPendingChanges = !random.chance(15)
    guard random.chance(15) else { return records }
    if random.chance(50) { records.sortKeys = [SortKey(random.pick(paths.attributes), .reverse)] }
    records.sortKeys.append(SortKey("number"))
    records.fetchLimit = random.chance(70) ? random.number(0...12) : nil
    records.fetchOffset = random.number(0...4)
    return records
  }

  // MARK: Columns

  private mutating func groupKeys() -> [String] {
    var keys: [String] = []
    for _ in 0..<random.weighted([(15, 0), (40, 1), (30, 2), (15, 3)]) {
      let candidates = random.weighted([(70, paths.attributes), (22, paths.members), (8, paths.references)])
      let key = random.pick(candidates)
      if !keys.contains(key) { keys.append(key) }
    }
    return keys
  }

  /// The columns, some with names of their own.
  private mutating func columns(_ keys: [String]) -> [ResultColumn] {
    var expressions = keys.filter { _ in random.chance(85) }
    for _ in 0..<random.number((keys.isEmpty ? 1 : 0)...4) { expressions.append(aggregate()) }
    if expressions.isEmpty { expressions.append("@count") }
    var columns: [ResultColumn] = []
    for (index, expression) in expressions.enumerated() {
      let name = random.chance(30) ? "column\(index)" : expression
      if !columns.contains(where: { $0.name == name }) {
        columns.append(ResultColumn(named: name, expression: expression))
      }
    }
    return columns
  }

  private mutating func aggregate() -> String {
    if random.chance(15) { return "@count" }
    if random.chance(8) {
      let function = random.pick(["@count", "@distinctCount"])
      return function + "." + random.pick(paths.references)
    }
    let candidates = random.weighted([(80, paths.attributes), (20, paths.members)])
    let path = random.pick(candidates)
    var functions: [AggregateFunction] = [.count, .countDistinct, .minimum, .maximum]
    // Averages have more digits than their sum could keep.
    if PlainRecords.valueType(at: PropertyPath(path).names[...]).isNumber, !path.contains("@avg") {
      functions += [.sum, .average, .sum, .average]
    }
    return random.pick(functions).pathOperator + "." + path
  }

  /// The names of columns, and expressions, that conditions and orders of groups compare.
  private mutating func comparable(_ keys: [String], _ columns: [ResultColumn]) -> [String] {
    let fetched = columns.filter { isComparable($0.expression) }.map(\.name)
    let others = [aggregate(), aggregate()].filter { isComparable($0) }
    return fetched + others + keys.filter { isComparable($0) } + ["@count"]
  }

  /// Whether an expression has a result that is in range and exact, and that is no object.
  private func isComparable(_ expression: String) -> Bool {
    if paths.references.contains(expression) { return false }
    let isSum = expression.hasPrefix("@sum.") || expression.hasPrefix("@avg.")
    return !isSum || !["serial", "budget", "reading"].contains(PropertyPath(expression).names.last)
  }

  /// The types of the values of names and expressions.
  private func valueType(_ columns: [ResultColumn]) -> (String) -> PlainType {
    return { name in
      let expression = columns.first { $0.name == name }?.expression ?? name
      return PlainRecords.valueType(at: PropertyPath(expression).names[...])
    }
  }

  // MARK: Conditions

  private mutating func condition(
    on names: [String], depth: Int, _ types: (String) -> PlainType
  ) -> FetchPredicate {
    switch random.number((depth == 0 ? 3 : 0)...11) {
    case 0: return .and([condition(on: names, depth: depth - 1, types), condition(on: names, depth: depth - 1, types)])
    case 1: return .or([condition(on: names, depth: depth - 1, types), condition(on: names, depth: depth - 1, types)])
    case 2: return .not(condition(on: names, depth: depth - 1, types))
    case 3: return calculation(names.filter { types($0) == .integer })
    default: return comparison(random.pick(names), names, types)
    }
  }

  private mutating func comparison(
    _ name: String, _ names: [String], _ types: (String) -> PlainType
  ) -> FetchPredicate {
    let path = FetchExpression.path(PropertyPath(name))
    let valueType = types(name)
    switch random.number(0...9) {
    case 0: return .comparison(path, random.pick([.equal, .notEqual] as [ComparisonOperator]), .value(.null))
    case 1:
      let values: [AttributeValue] = (0..<random.number(0...4)).map { _ in
        random.chance(20) ? .null : constant(of: valueType)
      }
      return .membership(path, in: values)
    case 2: return .between(path, .value(constant(of: valueType)), .value(constant(of: valueType)))
    case 3:
      let other = random.pick(names.filter { types($0) == valueType })
      return .comparison(path, ordering(), .path(PropertyPath(other)))
    case 4 where valueType == .text: return .comparison(path, .beginsWith, .value(constant(of: .text)))
    default: return .comparison(path, ordering(), .value(constant(of: valueType)))
    }
  }

  /// A comparison of a calculation with integers, which may be out of range or divide by zero.
  private mutating func calculation(_ names: [String]) -> FetchPredicate {
    guard !names.isEmpty else { return .constant(random.chance(50)) }
    let left = FetchExpression.path(PropertyPath(random.pick(names)))
    let right =
      random.chance(50)
      ? FetchExpression.path(PropertyPath(random.pick(names)))
      : FetchExpression.value(.int(random.pick([-3, -1, 0, 2, 7, Int64.max])))
    let operation = random.pick(ArithmeticOperator.allCases)
    return .comparison(.arithmetic(operation, left, right), ordering(), .value(constant(of: .integer)))
  }

  private mutating func ordering() -> ComparisonOperator {
    random.pick([.equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual])
  }

  private mutating func constant(of type: PlainType) -> AttributeValue {
    switch type {
    case .integer: .int(Int64(random.number(-5...25)))
    case .double: .double(Double(random.number(-20...80)) / 4)
    case .decimal: .decimal(Decimal(random.number(-20...80)) / 4)
    case .text: RandomValue.value(of: .string, &random)
    case .bool: RandomValue.value(of: .bool, &random)
    case .date: RandomValue.value(of: .date, &random)
    case .uuid: RandomValue.value(of: .uuid, &random)
    case .data: RandomValue.value(of: .data, &random)
    }
  }
}
