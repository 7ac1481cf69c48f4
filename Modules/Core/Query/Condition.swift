/// A predicate compiled for the evaluator: names are resolved to slots, constants have their property's type, patterns
/// are compiled.
@usableFromInline indirect enum Condition: Sendable {
  case constant(Bool)
  case test(Test)
  case comparison(Operand, Comparison, Operand)
  case between(Operand, Operand, Operand)
  /// A conjunction.
  case every([Condition])
  /// A disjunction.
  case some([Condition])
  case not(Condition)
  /// A condition on the members of a to-many relationship.
  case members(Members, Condition)

  /// A comparison with constants. A class, so that an evaluation retains only one reference.
  @usableFromInline final class Test: Sendable {
    @usableFromInline let operand: Operand
    @usableFromInline let test: ValueTest

    init(_ operand: Operand, _ test: ValueTest) {
      self.operand = operand
      self.test = test
    }
  }

  /// The members of a to-many relationship, and the quantifier of a condition on them.
  @usableFromInline struct Members: Sendable {
    @usableFromInline let quantifier: FetchPredicate.Quantifier
    @usableFromInline let path: RecordPath
    @usableFromInline let relationship: RelationshipDescription
    /// The entity with the relationship; `nil` if every record has the relationship.
    @usableFromInline let declaringEntity: EntityDescription?
    /// Whether the condition reads values of the records around the member; see ``OuterRecords``.
    @usableFromInline let readsOuterRecords: Bool
  }
}

/// The records around a member: the records that the enclosing conditions are about, from the innermost to the
/// outermost.
@usableFromInline final class OuterRecords<Record> {
  @usableFromInline let record: Record
  @usableFromInline let outer: OuterRecords?

  @inlinable init(_ record: Record, _ outer: OuterRecords?) {
    self.record = record
    self.outer = outer
  }

  /// The record of the enclosing condition at a level; 1 is the innermost.
  @inlinable func record(at level: Int) -> Record? { level == 1 ? record : outer?.record(at: level - 1) }
}

extension Condition {
  /// Whether a record satisfies the condition.
  ///
  /// - Parameter outer: The records around the record, if the condition is on a member.
  @inlinable
  func holds<S: RecordSource>(
    for record: S.Record, within outer: OuterRecords<S.Record>? = nil, in source: S
  ) throws -> Bool {
    switch self {
    case .constant(let value):
      return value
    case .test(let test):
      return try test.test.accepts(try test.operand.value(of: record, within: outer, in: source))
    case .comparison(let left, let comparison, let right):
      return try comparison.holds(
        try left.value(of: record, within: outer, in: source), try right.value(of: record, within: outer, in: source))
    case .between(let operand, let lower, let upper):
      let value = try operand.value(of: record, within: outer, in: source)
      return value.isBetween(
        try lower.value(of: record, within: outer, in: source), try upper.value(of: record, within: outer, in: source))
    case .every(let conditions):
      for condition in conditions where try !condition.holds(for: record, within: outer, in: source) { return false }
      return true
    case .some(let conditions):
      for condition in conditions where try condition.holds(for: record, within: outer, in: source) { return true }
      return false
    case .not(let condition):
      return try !condition.holds(for: record, within: outer, in: source)
    case .members(let members, let condition):
      return try members.hold(condition, for: record, within: outer, in: source)
    }
  }
}

extension Condition.Members {
  /// Whether the members of a record satisfy a condition as the quantifier demands.
  @inlinable
  func hold<S: RecordSource>(
    _ condition: Condition, for record: S.Record, within outer: OuterRecords<S.Record>?, in source: S
  ) throws -> Bool {
    guard let owner = try path.follow(from: record, within: outer, in: source) else { return quantifier != .any }
    if let declaringEntity, !source.entity(of: owner).isKind(of: declaringEntity) { return quantifier != .any }
    // The evaluation ends at the first deciding member: a satisfying member for `any` and `none`, a violating member
    // for `all`.
    let deciding = quantifier != .all
    let around = readsOuterRecords ? OuterRecords(record, outer) : nil
    for member in try source.members(of: relationship, from: owner)
    where try condition.holds(for: member, within: around, in: source) == deciding {
      return quantifier == .any
    }
    return quantifier != .any
  }
}
