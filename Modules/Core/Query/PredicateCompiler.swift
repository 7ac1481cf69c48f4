/// Compiles a checked predicate to a ``Condition``, and collects the relationships and entities on which the condition
/// depends.
struct PredicateCompiler {
  private let checker: PredicateChecker
  /// The level of the outermost record that the condition reads; 0 for the record itself.
  private var outermost = 0
  /// The relationships and hierarchies that the condition reads.
  private var relationships: Set<RelationshipDescription> = []
  private var roots: Set<EntityDescription> = []
  /// The root of the hierarchy whose records the condition is about.
  private let fetchedRoot: EntityDescription
  /// The columns to which paths refer; `nil` when paths refer to properties of the entity.
  private let columns: GroupColumns?

  init(entity: EntityDescription) { self.init(PredicateChecker(entity: entity)) }

  private init(_ checker: PredicateChecker) {
    self.checker = checker
    fetchedRoot = checker.entity.root
    columns = nil
  }

  /// Makes a compiler of conditions on grouped rows. Their paths are the indexes of columns.
  init(columns: GroupColumns) {
    checker = PredicateChecker(columns: columns)
    fetchedRoot = columns.entity.root
    self.columns = columns
  }

  /// The relationships and the roots of hierarchies that the compiled conditions read, without the hierarchy of the
  /// records themselves.
  var dependencies: (relationships: Set<RelationshipDescription>, entities: Set<EntityDescription>) {
    (relationships, roots.subtracting([fetchedRoot]))
  }

  /// Compiles a checked predicate.
  ///
  /// - Throws: ``ErrorCode/invalidPredicate`` for a pattern that cannot be read, and for a variable without a value.
  mutating func condition(_ predicate: FetchPredicate) throws(CoherenceError) -> Condition {
    switch predicate {
    case .constant(let value):
      return .constant(value)
    case .comparison(let left, let comparison, let right, let options):
      return try self.comparison(left, comparison, right, options)
    case .membership(let expression, let values, let options):
      return .test(Condition.Test(try operand(expression), Self.membership(values, options)))
    case .between(let expression, let lower, let upper):
      return try between(expression, lower, upper)
    case .list(_, _, let name, _):
      throw .unsubstituted(name)
    case .and(let predicates):
      return .every(try conditions(predicates))
    case .or(let predicates):
      return .some(try conditions(predicates))
    case .not(let predicate):
      return .not(try condition(predicate))
    case .quantified(let quantifier, let path, let predicate):
      return try members(quantifier, path, predicate)
    }
  }

  private mutating func conditions(_ predicates: [FetchPredicate]) throws(CoherenceError) -> [Condition] {
    var result: [Condition] = []
    for predicate in predicates { result.append(try condition(predicate)) }
    return result
  }

  // MARK: Comparisons

  /// Compiles a comparison, with a constant if one of the operands is constant.
  private mutating func comparison(
    _ left: FetchExpression, _ comparison: ComparisonOperator, _ right: FetchExpression, _ options: StringOptions
  ) throws(CoherenceError) -> Condition {
    if case .value(let constant) = right {
      return try test(left, comparison, constant, options)
    }
    if case .value(let constant) = left, let mirrored = comparison.mirrored {
      return try test(right, mirrored, constant, options)
    }
    return .comparison(
      try operand(left), Comparison(comparison: comparison, options: options), try operand(right))
  }

  /// Compiles the comparison with a constant.
  private mutating func test(
    _ expression: FetchExpression, _ comparison: ComparisonOperator, _ constant: AttributeValue,
    _ options: StringOptions
  ) throws(CoherenceError) -> Condition {
    let operand = try operand(expression)
    let isInteger = try isInteger(expression)
    if isInteger, case .int(let number) = constant, let range = comparison.range(of: number) {
      return .test(Condition.Test(operand, .integers(range)))
    }
    return try ValueTest(comparison, constant, options).map { .test(Condition.Test(operand, $0)) } ?? .constant(false)
  }

  /// Whether the expression's values are integers, or missing.
  private func isInteger(_ expression: FetchExpression) throws(CoherenceError) -> Bool {
    switch expression {
    case .value, .variable: return false
    case .count, .subquery: return true
    case .arithmetic(let operation, let left, let right):
      return try checker.arithmetic(operation, left, right).result == .integer
    // A sum may be out of the range of integers.
    case .path where columns != nil: return false
    case .path(let path):
      guard case .attribute(let attribute) = try checker.resolve(path).target else { return false }
      return OperandKind(attribute.type) == .number(.int64)
    }
  }

  /// The greatest number of constants for which a linear search is faster than a hash lookup.
  private static let fewConstants = 8

  /// Compiles the membership in a list of constants.
  private static func membership(_ values: [AttributeValue], _ options: StringOptions) -> ValueTest {
    if !options.isEmpty { return .foldedIsIn(Set(values.map { $0.folded(options) }), options) }
    return values.count <= fewConstants ? .isAmong(values) : .isIn(Set(values))
  }

  /// Compiles a range.
  private mutating func between(_ expression: FetchExpression, _ lower: FetchExpression, _ upper: FetchExpression)
    throws(CoherenceError) -> Condition
  {
    if case .value(let low) = lower, case .value(let high) = upper {
      return .test(Condition.Test(try operand(expression), .between(low, high)))
    }
    return .between(try operand(expression), try operand(lower), try operand(upper))
  }

  // MARK: Paths

  /// Compiles an operand of a comparison.
  private mutating func operand(_ expression: FetchExpression) throws(CoherenceError) -> Operand {
    switch expression {
    case .value(let value): return .constant(value)
    case .path(let path):
      if let columns { return .slot(try columns.slot(at: path)) }
      return operand(try checker.resolve(path), from: path.outerLevel)
    case .count(let path):
      return operand(try checker.resolve(path), from: path.outerLevel)
    case .variable(let name): throw .unsubstituted(name)
    case .arithmetic(let operation, let left, let right):
      let arithmetic = try checker.arithmetic(operation, left, right)
      return .calculation(Calculation(arithmetic, try operand(left), try operand(right)))
    case .subquery(let path, let condition):
      let (ownerPath, relationship, declaringEntity) = try members(at: path)
      let (inner, readsOuterRecords) = try memberCondition(condition, of: relationship)
      let filtered = FilteredCount(
        relationship, inner, declaringEntity: declaringEntity, readsOuterRecords: readsOuterRecords,
        hasSharedOwners: ownerPath.leadsToOtherRecord)
      return .filteredCount(ownerPath, filtered)
    }
  }

  /// Compiles the operand at the end of a path. A to-many relationship becomes the number of its members.
  ///
  /// - Parameter outerLevel: As ``PropertyPath/outerLevel``.
  mutating func operand(_ path: ResolvedPath, from outerLevel: Int = 0) -> Operand {
    let ownerPath = recordPath(path, from: outerLevel)
    switch path.target {
    case .identity:
      return path.steps.isEmpty && outerLevel == 0 ? .identity : .remote(ownerPath, .identity)
    case .attribute(let attribute):
      return operand(ownerPath, attribute.slot, declaringEntity(attribute, at: path.owner))
    case .toOne(let relationship):
      relationships.insert(relationship)
      // A to-one relationship always has a slot.
      return operand(ownerPath, relationship.slot ?? 0, declaringEntity(relationship, at: path.owner))
    case .toMany(let relationship):
      noteDependency(on: relationship)
      return .remote(ownerPath, .count(relationship, declaringEntity(relationship, at: path.owner)))
    case .aggregate(let aggregate):
      return .remote(ownerPath, end(aggregate, of: ownerPath, declaringEntity(aggregate.relationship, at: path.owner)))
    }
  }

  /// Compiles an aggregate of members at the end of a path.
  private mutating func end(
    _ aggregate: MemberAggregate, of ownerPath: RecordPath, _ declaringEntity: EntityDescription?
  ) -> RecordPath.End {
    noteDependency(on: aggregate.relationship)
    guard let member = aggregate.operand else { return .count(aggregate.relationship, declaringEntity) }
    var inner = PredicateCompiler(entity: aggregate.relationship.destination)
    let operand = inner.operand(member)
    relationships.formUnion(inner.relationships)
    roots.formUnion(inner.roots)
    return .aggregate(
      MemberFold(
        aggregate, operand: operand, operandStorage: member.storage ?? .int64, declaringEntity: declaringEntity,
        hasSharedOwners: ownerPath.leadsToOtherRecord))
  }

  /// Compiles the slot of a record at the end of a path. A slot of the record itself needs no path.
  private func operand(_ ownerPath: RecordPath, _ slot: Int, _ declaringEntity: EntityDescription?) -> Operand {
    let isOwnValue = ownerPath.steps.isEmpty && ownerPath.outerLevel == 0 && declaringEntity == nil
    return isOwnValue ? .slot(slot) : .remote(ownerPath, .slot(slot, declaringEntity))
  }

  /// Compiles the relationships of a path.
  private mutating func recordPath(_ path: ResolvedPath, from outerLevel: Int) -> RecordPath {
    outermost = max(outermost, outerLevel)
    var owner = checker.entity(at: outerLevel)
    let steps = path.steps.map { relationship in
      let step = RecordPath.Step(relationship: relationship, declaringEntity: declaringEntity(relationship, at: owner))
      noteDependency(on: relationship)
      owner = relationship.destination
      return step
    }
    return RecordPath(steps: steps, outerLevel: outerLevel)
  }

  /// The entity with the property; `nil` if every record of the owner has the property. Subentities of an entity use
  /// the same slots for different properties, so that the slot alone does not identify the property.
  private func declaringEntity(_ property: PropertyDescription, at owner: EntityDescription) -> EntityDescription? {
    owner.isKind(of: property.entity) ? nil : property.entity
  }

  /// Records that the condition depends on a relationship, and on the hierarchy of its destination.
  private mutating func noteDependency(on relationship: RelationshipDescription) {
    relationships.insert(relationship)
    roots.insert(relationship.destination.root)
  }

  /// Compiles a condition on the members of a to-many relationship.
  private mutating func members(
    _ quantifier: FetchPredicate.Quantifier, _ path: PropertyPath, _ predicate: FetchPredicate
  ) throws(CoherenceError) -> Condition {
    let (ownerPath, relationship, declaringEntity) = try members(at: path)
    let (condition, readsOuterRecords) = try memberCondition(predicate, of: relationship)
    let members = Condition.Members(
      quantifier: quantifier, path: ownerPath, relationship: relationship, declaringEntity: declaringEntity,
      readsOuterRecords: readsOuterRecords)
    return .members(members, condition)
  }

  /// Compiles the to-many relationship at the end of a path, the path to its owner, and the entity with the
  /// relationship.
  private mutating func members(
    at path: PropertyPath
  ) throws(CoherenceError) -> (RecordPath, RelationshipDescription, EntityDescription?) {
    let resolved = try checker.resolve(path)
    guard case .toMany(let relationship) = resolved.target else {
      throw CoherenceError(
        .invalidPredicate,
        "'\(path)' is not a to-many relationship and has no members; "
          + "use ANY, ALL, NONE and SUBQUERY on to-many relationships only."
      )
    }
    return (
      recordPath(resolved, from: path.outerLevel), relationship, declaringEntity(relationship, at: resolved.owner)
    )
  }

  /// Compiles the condition on the members of a relationship.
  private mutating func memberCondition(
    _ predicate: FetchPredicate, of relationship: RelationshipDescription
  ) throws(CoherenceError) -> (Condition, readsOuterRecords: Bool) {
    noteDependency(on: relationship)
    var inner = PredicateCompiler(checker.members(of: relationship))
    let condition = try inner.condition(predicate)
    relationships.formUnion(inner.relationships)
    roots.formUnion(inner.roots)
    outermost = max(outermost, inner.outermost - 1)
    return (condition, inner.outermost > 0)
  }
}

extension ComparisonOperator {
  /// The range of integers that satisfy the comparison with the number; `nil` if the integers do not form a range.
  fileprivate func range(of number: Int64) -> ClosedRange<Int64>? {
    switch self {
    case .equal: number...number
    case .less where number > .min: .min...(number - 1)
    case .lessOrEqual: .min...number
    case .greater where number < .max: (number + 1)...(.max)
    case .greaterOrEqual: number...(.max)
    default: nil
    }
  }
}
