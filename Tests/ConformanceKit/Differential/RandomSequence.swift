import CoherenceCore

/// Random steps over random contexts.
///
/// The steps are generated without running them. The generator guesses the state of the objects, so that most steps use
/// existing objects. Some steps use missing objects and have to fail alike on all stores.
struct RandomSequence {
  private typealias Action = DifferentialOperation.Action
  private typealias PropertyValue = DifferentialOperation.PropertyValue

  private var random: SplitMix64
  private let model: ManagedObjectModel
  private let contexts: [DifferentialSequence.Context]
  private var objects: [KnownObject] = []
  private var operations: [DifferentialOperation] = []

  private struct KnownObject {
    let name: String
    let entity: EntityDescription
    /// The contexts that probably see the object.
    var visible: Set<Int>
    var isDeleted = false
  }

  /// The sequence of a seed.
  static func sequence(seed: UInt64, model: ManagedObjectModel) -> DifferentialSequence {
    var sequence = RandomSequence(seed: seed, model: model)
    sequence.addPopulation()
    let count = sequence.operations.count + sequence.random.number(10...80)
    while sequence.operations.count < count { sequence.addOperation() }
    return DifferentialSequence(contexts: sequence.contexts, operations: sequence.operations)
  }

  private init(seed: UInt64, model: ManagedObjectModel) {
    random = SplitMix64(seed: seed)
    self.model = model
    contexts = Self.contexts(&random)
  }

  private static func contexts(_ random: inout SplitMix64) -> [DifferentialSequence.Context] {
    var contexts = [DifferentialSequence.Context()]
    for index in 1..<random.number(2...3) {
      var context = DifferentialSequence.Context()
      if random.chance(30) {
        context.parent = random.number(0...(index - 1))
        context.savesPastParent = random.chance(25)
      } else if random.chance(40) {
        context.follows = [0]
      }
      contexts.append(context)
    }
    if contexts[1].parent == nil, random.chance(40) { contexts[0].follows = [1] }
    return contexts
  }

  // MARK: Guesses

  private func descendants(_ context: Int) -> Set<Int> {
    var result: Set<Int> = [context]
    for index in contexts.indices {
      if let parent = contexts[index].parent, result.contains(parent) { result.insert(index) }
    }
    return result
  }

  private mutating func noteSave(_ context: Int) {
    let seers: Set<Int> =
      if let parent = contexts[context].parent, !contexts[context].savesPastParent { descendants(parent) } else {
        Set(contexts.indices)
      }
    for index in objects.indices where objects[index].visible.contains(context) {
      objects[index].visible.formUnion(seers)
    }
  }

  /// The name of an object that the context probably sees, or sometimes of any object.
  private mutating func object(_ context: Int, of entity: EntityDescription? = nil) -> String? {
    let isStrict = random.chance(93)
    let candidates = objects.filter { object in
      entity.map { object.entity.isKind(of: $0) } != false
        && (!isStrict || (object.visible.contains(context) && !object.isDeleted))
    }
    // Some objects are chosen more often, so that they have many members and many writers.
    let favourites = random.chance(40) ? Array(candidates.prefix(3)) : candidates
    return candidates.isEmpty ? nil : random.pick(favourites).name
  }

  private func entity(of name: String) -> EntityDescription { objects.first { $0.name == name }!.entity }

  // MARK: Steps

  private enum Step {
    case insert, set, read, relate, members, delete, find, fetch, count, aggregate, filter, listPending, processPending
    case save
    case saveOrRollback, rollback, refresh, refreshAll, reset, mergeChanges, obtainPermanentIDs, updateBatch
    case deleteBatch, choosePolicy
  }

  private static let weights: [(Int, Step)] = [
    (17, .insert), (15, .set), (7, .read), (9, .relate), (15, .members), (6, .delete), (3, .find), (13, .fetch),
    (5, .count), (6, .aggregate), (3, .filter), (2, .listPending), (1, .processPending), (6, .save),
    (9, .saveOrRollback),
    (1, .rollback), (3, .refresh), (1, .refreshAll), (1, .reset), (2, .mergeChanges), (1, .obtainPermanentIDs),
    (2, .updateBatch), (1, .deleteBatch), (2, .choosePolicy),
  ]

  /// Adds some initial objects, which are saved and visible in every context. Each has its own save, so that a failed
  /// save affects one object only.
  private mutating func addPopulation() {
    for _ in 0..<random.number(4...8) {
      addInsert(0)
      operations.append(DifferentialOperation(context: 0, action: .saveOrRollback))
    }
    noteSave(0)
    for _ in 0..<random.number(0...8) {
      guard let action = random.chance(30) ? relate(0) : members(0) else { continue }
      operations.append(DifferentialOperation(context: 0, action: action))
    }
    operations.append(DifferentialOperation(context: 0, action: .saveOrRollback))
  }

  private mutating func addOperation() {
    let context = random.number(0...(contexts.count - 1))
    let step = random.weighted(Self.weights.map { (weight: $0.0, element: $0.1) })
    if step == .insert { return addInsert(context) }
    guard let action = action(step, context) else { return addInsert(context) }
    operations.append(DifferentialOperation(context: context, action: action))
  }

  private mutating func action(_ step: Step, _ context: Int) -> Action? {
    switch step {
    case .insert: return nil
    case .set: return object(context).map { .set($0, propertyValue(of: entity(of: $0))) }
    case .read: return object(context).map { .read($0) }
    case .relate: return relate(context)
    case .members: return members(context)
    case .delete: return delete(context)
    case .find: return object(context).map { .find($0) }
    case .fetch: return .fetch(query())
    case .count: return .count(query())
    case .aggregate: return .aggregate(query())
    case .filter: return filter(context)
    case .listPending: return .listPending
    case .processPending: return .processPending
    case .refresh: return object(context).map { .refresh($0, keepingChanges: random.chance(50)) }
    case .refreshAll: return .refreshAll
    case .mergeChanges: return .mergeChanges(from: random.number(0...(contexts.count - 1)))
    case .obtainPermanentIDs: return object(context).map { .obtainPermanentIDs([$0]) }
    case .updateBatch: return updateBatch()
    case .deleteBatch: return .deleteBatch(query())
    case .choosePolicy: return .choosePolicy(random.pick(DifferentialOperation.PolicyChoice.allCases))
    case .save, .saveOrRollback, .rollback, .reset: return boundary(step, context)
    }
  }

  private mutating func boundary(_ step: Step, _ context: Int) -> Action {
    if step == .save || step == .saveOrRollback {
      noteSave(context)
      return step == .save ? .save : .saveOrRollback
    }
    for index in objects.indices where objects[index].visible == descendants(context) { objects[index].visible = [] }
    return step == .rollback ? .rollback : .reset
  }

  private mutating func addInsert(_ context: Int) {
    let entity = random.pick(model.entities.filter { !$0.isAbstract })
    let name = "o\(objects.count + 1)"
    objects.append(KnownObject(name: name, entity: entity, visible: descendants(context)))
    var values: [PropertyValue] = []
    for attribute in entity.attributes {
      let isNeeded = !attribute.isOptional && attribute.defaultValue.isNull && random.chance(95)
      guard isNeeded || random.chance(35) else { continue }
      values.append(PropertyValue(property: attribute.name, value: RandomValue.value(of: attribute.type, &random)))
    }
    operations.append(DifferentialOperation(context: context, action: .insert(name, entity: entity.name, values)))
    for relationship in entity.relationships where !relationship.isToMany && !relationship.isOptional {
      guard let target = object(context, of: relationship.destination) else { continue }
      operations.append(
        DifferentialOperation(context: context, action: .relate(name, relationship: relationship.name, to: target)))
    }
  }

  private mutating func propertyValue(of entity: EntityDescription) -> PropertyValue {
    if random.chance(1) { return PropertyValue(property: "nothing", value: .null) }
    if random.chance(2), let relationship = entity.relationships.first {
      return PropertyValue(property: relationship.name, value: .int(1))
    }
    let attribute = random.pick(entity.attributes)
    let value: AttributeValue =
      if random.chance(12) {
        RandomValue.refused(by: attribute.type, &random)
      } else if random.chance(attribute.isOptional ? 15 : 3) {
        .null
      } else {
        RandomValue.value(of: attribute.type, &random)
      }
    return PropertyValue(property: attribute.name, value: value)
  }

  private mutating func query() -> RandomQuery {
    RandomQuery(entity: random.pick(model.entities).name, seed: random.next(), objects: objects.map(\.name))
  }

  // MARK: Relationships

  /// An object with a relationship, and the relationship.
  private mutating func owner(_ context: Int, toMany: Bool) -> (String, RelationshipDescription)? {
    for _ in 0..<4 {
      guard let name = object(context) else { return nil }
      let candidates = entity(of: name).relationships.filter { $0.isToMany == toMany }
      if !candidates.isEmpty { return (name, random.pick(candidates)) }
    }
    return nil
  }

  /// Returns an object as the target of a relationship, sometimes an object of the wrong type.
  private mutating func target(_ context: Int, of relationship: RelationshipDescription) -> String? {
    object(context, of: random.chance(97) ? relationship.destination : nil)
  }

  private mutating func relate(_ context: Int) -> Action? {
    guard let (name, relationship) = owner(context, toMany: false) else { return nil }
    let target = random.chance(15) ? nil : target(context, of: relationship)
    return .relate(name, relationship: relationship.name, to: target)
  }

  private mutating func members(_ context: Int) -> Action? {
    guard let (name, relationship) = owner(context, toMany: true),
      let member = target(context, of: relationship)
    else { return nil }
    let property = relationship.name
    switch random.number(0...99) {
    case 0..<50:
      return .addMember(name, relationship: property, member, at: random.chance(25) ? random.number(0...3) : nil)
    case 50..<70: return .removeMember(name, relationship: property, member)
    case 70..<85:
      let candidates = objects.filter { $0.entity.isKind(of: relationship.destination) && $0.visible.contains(context) }
      return .replaceMembers(name, relationship: property, random.some(candidates.map(\.name), upTo: 4))
    default:
      return .moveMember(name, relationship: property, from: random.number(0...2), to: random.number(0...3))
    }
  }

  private mutating func filter(_ context: Int) -> Action? {
    guard let (name, relationship) = owner(context, toMany: true) else { return nil }
    var query = query()
    query.entity = relationship.destination.name
    return .filter(name, relationship: relationship.name, query)
  }

  private mutating func delete(_ context: Int) -> Action? {
    guard let name = object(context) else { return nil }
    for index in objects.indices where objects[index].name == name { objects[index].isDeleted = true }
    return .delete(name)
  }

  private mutating func updateBatch() -> Action {
    let query = query()
    let entity = model.entitiesByName[query.entity]!
    return .updateBatch(query, [propertyValue(of: entity)])
  }
}
