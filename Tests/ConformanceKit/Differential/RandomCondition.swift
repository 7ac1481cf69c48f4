import CoherenceCore
import Foundation

/// Random conditions on the records of an entity, with every operator, over to-one paths and to-many relationships.
///
/// The same seed makes the same condition on every store; objects are referred to by number.
struct RandomCondition {
  var random: SplitMix64
  /// The value for an object; null for an unknown object.
  let object: (Int) -> AttributeValue
  /// The number of objects that a condition can refer to.
  let objectCount: Int
  /// The entities of the records around a condition on members, from the outermost to the innermost.
  private var enclosing: [EntityDescription] = []

  init(random: SplitMix64, object: @escaping (Int) -> AttributeValue, objectCount: Int) {
    self.random = random
    self.object = object
    self.objectCount = objectCount
  }

  mutating func predicate(on entity: EntityDescription, depth: Int) -> FetchPredicate {
    if depth > 1, random.chance(45) {
      switch random.number(0...2) {
      case 0: return .and((0..<random.number(0...3)).map { _ in predicate(on: entity, depth: depth - 1) })
      case 1: return .or((0..<random.number(0...3)).map { _ in predicate(on: entity, depth: depth - 1) })
      default: return .not(predicate(on: entity, depth: depth - 1))
      }
    }
    if depth > 1, random.chance(40), let quantified = quantified(on: entity, depth: depth) { return quantified }
    return leaf(on: entity)
  }

  mutating func sortKeys(on entity: EntityDescription) -> [SortKey] {
    (0..<random.number(0...2)).map { _ in
      let (path, owner) = path(from: entity)
      let attribute = random.pick(Self.attributes(of: owner))
      let isText = attribute.type.storage == .string
      return SortKey(
        PropertyPath(names: path + [attribute.name]), random.chance(60) ? .forward : .reverse,
        options: isText && random.chance(25) ? options() : [],
        missingValues: random.chance(30) ? random.pick([.first, .last]) : .smallest)
    }
  }

  // MARK: Paths

  /// The attributes of the entity and of its subentities, the first of each name.
  static func attributes(of entity: EntityDescription) -> [AttributeDescription] {
    var names: Set<String> = []
    return entity.hierarchy.flatMap(\.attributes).filter { names.insert($0.name).inserted }
  }

  static func relationships(of entity: EntityDescription, toMany: Bool) -> [RelationshipDescription] {
    var names: Set<String> = []
    return entity.hierarchy.flatMap(\.relationships).filter { $0.isToMany == toMany && names.insert($0.name).inserted }
  }

  /// Up to two to-one relationships to follow, and where they lead.
  mutating func path(from entity: EntityDescription) -> ([String], EntityDescription) {
    var names: [String] = []
    var owner = entity
    while names.count < 2, random.chance(25) {
      let next = Self.relationships(of: owner, toMany: false)
      if next.isEmpty { break }
      let relationship = random.pick(next)
      names.append(relationship.name)
      owner = relationship.destination
    }
    return (names, owner)
  }

  // MARK: Conditions

  private mutating func quantified(on entity: EntityDescription, depth: Int) -> FetchPredicate? {
    let (path, owner) = path(from: entity)
    let candidates = Self.relationships(of: owner, toMany: true)
    if candidates.isEmpty { return nil }
    let relationship = random.pick(candidates)
    return .quantified(
      random.pick([.any, .all, .none]), PropertyPath(names: path + [relationship.name]),
      members(of: relationship, around: entity, depth: depth - 1))
  }

  /// A condition on the members of a relationship, which may use the records around the member.
  private mutating func members(
    of relationship: RelationshipDescription, around entity: EntityDescription, depth: Int
  ) -> FetchPredicate {
    enclosing.append(entity)
    defer { enclosing.removeLast() }
    return predicate(on: relationship.destination, depth: depth)
  }

  private mutating func leaf(on entity: EntityDescription) -> FetchPredicate {
    let (path, owner) = path(from: entity)
    let toOnes = Self.relationships(of: owner, toMany: false)
    let toManys = Self.relationships(of: owner, toMany: true)
    switch random.number(0...99) {
    case 0..<2: return .constant(random.chance(50))
    case 2..<4: return .comparison(.path(PropertyPath("nothing")), .equal, .value(.int(1)))
    case 4..<10:
      return .comparison(.path(PropertyPath(names: path)), identityOperator(), .value(anyObject()))
    case 10..<26 where !toOnes.isEmpty: return reference(path + [random.pick(toOnes).name])
    case 26..<40 where !toManys.isEmpty: return members(path, random.pick(toManys), around: entity)
    case 40..<54: return arithmetic(path, of: owner)
    default: return attribute(path, random.pick(Self.attributes(of: owner)), of: owner)
    }
  }

  private mutating func identityOperator() -> ComparisonOperator { random.chance(60) ? .equal : .notEqual }

  private mutating func anyObject() -> AttributeValue {
    objectCount == 0 || random.chance(15) ? .null : object(random.number(0...(objectCount - 1)))
  }

  private mutating func reference(_ names: [String]) -> FetchPredicate {
    let path = FetchExpression.path(PropertyPath(names: names))
    if random.chance(25) { return .membership(path, in: (0..<random.number(0...4)).map { _ in anyObject() }) }
    return .comparison(path, identityOperator(), .value(random.chance(35) ? .null : anyObject()))
  }

  private mutating func members(
    _ names: [String], _ relationship: RelationshipDescription, around entity: EntityDescription
  ) -> FetchPredicate {
    let path = PropertyPath(names: names + [relationship.name])
    if random.chance(40) {
      let filtered = FetchExpression.subquery(path, members(of: relationship, around: entity, depth: 2))
      let count = random.chance(25) ? FetchExpression.arithmetic(.multiply, filtered, .count(path)) : filtered
      return .comparison(count, ordering(), .value(.int(Int64(random.number(0...2)))))
    }
    if random.chance(30) { return .comparison(.path(path), .contains, .value(anyObject())) }
    return .comparison(.count(path), ordering(), .value(.int(Int64(random.number(0...3)))))
  }

  private mutating func attribute(
    _ path: [String], _ attribute: AttributeDescription, of owner: EntityDescription
  ) -> FetchPredicate {
    let expression = FetchExpression.path(PropertyPath(names: path + [attribute.name]))
    let type = attribute.type
    switch random.number(0...99) {
    case 0..<8: return .comparison(expression, identityOperator(), .value(.null))
    case 8..<18: return .membership(expression, in: constants(of: type), textOptions(type))
    case 18..<28: return .between(expression, .value(constant(of: type)), .value(constant(of: type)))
    case 28..<36:
      if random.chance(60), let outer = outerPath(of: type) {
        return .comparison(expression, ordering(), outer, textOptions(type))
      }
      let same = Self.attributes(of: owner).filter { $0.type.storage == type.storage }
      return .comparison(
        expression, ordering(), .path(PropertyPath(names: path + [random.pick(same).name])), textOptions(type))
    case 36..<40: return .comparison(expression, ordering(), .value(.double(Double(random.number(-4...40)) / 4)))
    case 40..<70 where type.storage == .string: return text(expression)
    default:
      return .comparison(expression, ordering(), .value(constant(of: type)), textOptions(type))
    }
  }

  /// An attribute of a record around the member, over up to two to-one relationships; `nil` without one of the type.
  private mutating func outerPath(of type: AttributeType) -> FetchExpression? {
    guard !enclosing.isEmpty else { return nil }
    let level = random.number(1...enclosing.count)
    let (path, owner) = path(from: enclosing[enclosing.count - level])
    let same = Self.attributes(of: owner).filter { $0.type.storage == type.storage }
    guard !same.isEmpty else { return nil }
    return .path(PropertyPath(names: path + [random.pick(same).name], outerLevel: level))
  }

  private mutating func constant(of type: AttributeType) -> AttributeValue { RandomValue.value(of: type, &random) }

  private mutating func constants(of type: AttributeType) -> [AttributeValue] {
    (0..<random.number(0...5)).map { _ in random.chance(12) ? .null : constant(of: type) }
  }

  mutating func ordering() -> ComparisonOperator {
    random.pick([.equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual])
  }

  // MARK: Text

  private mutating func options() -> StringOptions {
    random.pick([.caseInsensitive, .diacriticInsensitive, [.caseInsensitive, .diacriticInsensitive]])
  }

  private mutating func textOptions(_ type: AttributeType) -> StringOptions {
    type.storage == .string && random.chance(25) ? options() : []
  }

  private static let patterns = ["*", "a*", "*b", "?", "a?c", "\\*", "\\?", "*%*", "_", "", "Ä*", "[ab]*"]
  private static let expressions = ["a.*", ".*", "[ab]+", "", "(a|b)b?", "\\w", "(", "ä"]

  private mutating func text(_ expression: FetchExpression) -> FetchPredicate {
    let options = random.chance(35) ? options() : []
    let comparison: ComparisonOperator = random.pick([.beginsWith, .endsWith, .contains, .like, .matches])
    let constant =
      switch comparison {
      case .like: random.pick(Self.patterns)
      case .matches: random.pick(Self.expressions)
      default: RandomValue.text(&random)
      }
    return .comparison(expression, comparison, .value(.string(constant)), options)
  }
}
