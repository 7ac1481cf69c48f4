import CoherenceCore
import Foundation

/// A random model: up to five entities, inheritance, attributes of every type, every kind of relationship.
struct RandomModel {
  private var random: SplitMix64
  private var entities: [Entity] = []
  private var relationshipCount = 0

  private init(seed: UInt64) { random = SplitMix64(seed: seed) }

  /// The declarations of the model of a seed.
  static func declarations(seed: UInt64) -> [Entity] {
    var model = RandomModel(seed: seed)
    model.addEntities()
    for index in model.entities.indices { model.addAttributes(to: index) }
    for _ in 0..<model.random.number(0...(model.entities.count * 2)) { model.addRelationship() }
    for index in model.entities.indices { model.addConstraints(to: index) }
    return model.entities
  }

  // MARK: Entities

  /// Words of query languages, which have to be quoted there.
  private static let names = ["Order", "Group", "Item", "Select", "User"]

  private mutating func addEntities() {
    for name in Self.names.prefix(random.number(1...5)) {
      var entity = Entity(name)
      if !entities.isEmpty, random.chance(40) { entity.parent = random.pick(entities).name }
      entities.append(entity)
    }
    for index in entities.indices where hasChildren(entities[index]) { entities[index].isAbstract = random.chance(40) }
  }

  private func hasChildren(_ entity: Entity) -> Bool { entities.contains { $0.parent == entity.name } }

  private func depth(_ entity: Entity) -> Int {
    entity.parent.flatMap { parent in entities.first { $0.name == parent } }.map { depth($0) + 1 } ?? 0
  }

  private func ancestors(_ entity: Entity) -> [Entity] {
    entity.parent.flatMap { parent in entities.first { $0.name == parent } }.map { ancestors($0) + [$0] } ?? []
  }

  // MARK: Attributes

  private static let types: [AttributeType] = [
    .int16, .int32, .int64, .bool, .float, .double, .decimal, .string, .string, .string, .data, .date, .uuid, .url,
    .codable, .transformable("identity"), .enumeration(raw: .string, cases: ["low", "high"].attributeValues),
    .enumeration(raw: .int16, cases: nil),
  ]

  private mutating func addAttributes(to index: Int) {
    // Siblings share names, so that one column has to serve two entities.
    let prefix = ["a", "b", "c", "d", "e"][depth(entities[index])]
    for number in 1...random.number(1...4) { entities[index].properties.append(attribute("\(prefix)\(number)")) }
    guard random.chance(12) else { return }
    let parts = [
      Attribute("x", .int32, optional: true), Attribute("y", random.pick(Self.types), optional: true),
    ]
    entities[index].properties.append(CompositeAttribute("\(prefix)Point", parts: parts))
  }

  private mutating func attribute(_ name: String) -> Attribute {
    let type = random.pick(Self.types)
    var attribute = Attribute(name, type, optional: random.chance(65))
    if random.chance(attribute.isOptional ? 25 : 60) { attribute.defaultValue = RandomValue.value(of: type, &random) }
    if random.chance(30) { attribute.validation = rules(for: type) }
    return attribute
  }

  private mutating func rules(for type: AttributeType) -> [ValidationRule] {
    switch type {
    case .int16, .int32, .int64: [.minimum(.int(-4)), .maximum(.int(random.pick([19, 1000])))]
    case .float, .double: [.maximum(.double(100))]
    case .decimal: [.minimum(.decimal(-5))]
    case .date: [.minimum(.date(Timestamp(microseconds: -4 * 86_400_000_000)))]
    case .string: random.chance(50) ? [.maximumLength(2)] : [.minimumLength(1), .pattern("[^%]*")]
    case .data: [.maximumLength(2)]
    default: []
    }
  }

  // MARK: Relationships

  private enum Shape: CaseIterable {
    case toOneAlone, toManyAlone, oneToOne, oneToMany, manyToMany, symmetricToOne, symmetricToMany
  }

  private mutating func addRelationship() {
    let source = random.number(0...(entities.count - 1))
    let target = random.chance(20) ? source : random.number(0...(entities.count - 1))
    switch random.weighted([
      (10, Shape.toOneAlone), (12, .toManyAlone), (12, .oneToOne), (35, .oneToMany),
      (22, .manyToMany), (3, .symmetricToOne), (6, .symmetricToMany),
    ])
    {
    case .toOneAlone: add(toOne(to: target, inverse: nil), to: source)
    case .toManyAlone: add(toMany(to: target, inverse: nil), to: source)
    case .oneToOne:
      addPair(source, target) {
        $0.toOne(to: $1, inverse: $2)
      } back: {
        $0.toOne(to: $1, inverse: $2)
      }
    case .oneToMany:
      addPair(source, target) {
        $0.toMany(to: $1, inverse: $2)
      } back: {
        $0.toOne(to: $1, inverse: $2)
      }
    case .manyToMany:
      addPair(source, target) {
        $0.toMany(to: $1, inverse: $2)
      } back: {
        $0.toMany(to: $1, inverse: $2)
      }
    case .symmetricToOne: add(toOne(to: source, inverse: "r\(relationshipCount + 1)"), to: source)
    case .symmetricToMany: add(toMany(to: source, inverse: "r\(relationshipCount + 1)"), to: source)
    }
  }

  private typealias Maker = (inout RandomModel, Int, String) -> Relationship

  private mutating func addPair(_ source: Int, _ target: Int, forth: Maker, back: Maker) {
    let inverse = "r\(relationshipCount + 2)"
    let name = "r\(relationshipCount + 1)"
    add(forth(&self, target, inverse), to: source)
    add(back(&self, source, name), to: target)
  }

  private mutating func add(_ relationship: Relationship, to entity: Int) {
    relationshipCount += 1
    var named = relationship
    named.name = "r\(relationshipCount)"
    entities[entity].properties.append(named)
  }

  private mutating func toOne(to target: Int, inverse: String?) -> Relationship {
    Relationship(
      "", toOne: entities[target].name, inverse: inverse, optional: !random.chance(10), deleteRule: deleteRule())
  }

  private mutating func toMany(to target: Int, inverse: String?) -> Relationship {
    Relationship(
      "", toMany: entities[target].name, inverse: inverse, ordered: random.chance(45),
      minimumCount: random.chance(4) ? 1 : 0, maximumCount: random.chance(8) ? 2 : nil, deleteRule: deleteRule())
  }

  private mutating func deleteRule() -> DeleteRule {
    random.weighted([(46, .nullify), (18, .cascade), (24, .deny), (12, .noAction)])
  }

  // MARK: Constraints

  private mutating func addConstraints(to index: Int) {
    let all = (ancestors(entities[index]) + [entities[index]]).flatMap(\.properties)
    let attributes = all.compactMap { ($0 as? Attribute)?.name }
    let references = all.compactMap { $0 as? Relationship }.filter { !$0.isToMany }.map(\.name)
    if random.chance(35) { entities[index].uniqueness.append([random.pick(attributes)]) }
    if random.chance(15) {
      let second = references.isEmpty || random.chance(40) ? random.pick(attributes) : random.pick(references)
      let first = random.pick(attributes)
      entities[index].uniqueness.append(first == second ? [first] : [first, second])
    }
    if random.chance(25) { entities[index].indexes.append([random.pick(attributes + references)]) }
  }
}

extension [String] {
  fileprivate var attributeValues: Set<AttributeValue> { Set(map(AttributeValue.string)) }
}
