/// A calculation compiled for the evaluator. A class, so that an evaluation retains only one reference.
@usableFromInline final class Calculation: Sendable {
  private let arithmetic: Arithmetic
  private let left: Operand
  private let right: Operand

  init(_ arithmetic: Arithmetic, _ left: Operand, _ right: Operand) {
    self.arithmetic = arithmetic
    self.left = left
    self.right = right
  }

  /// The result for a record.
  @usableFromInline func value<S: RecordSource>(of record: S.Record, in source: S) throws -> AttributeValue {
    arithmetic.value(try left.value(of: record, in: source), try right.value(of: record, in: source))
  }
}

/// The number of members that satisfy a condition, compiled for the evaluator. A class, so that an evaluation retains only
/// one reference.
@usableFromInline final class FilteredCount: Sendable {
  private let relationship: RelationshipDescription
  private let condition: Condition
  /// The entity with the relationship; `nil` if every record has the relationship.
  @usableFromInline let required: EntityDescription?

  init(_ relationship: RelationshipDescription, _ condition: Condition, required: EntityDescription?) {
    self.relationship = relationship
    self.condition = condition
    self.required = required
  }

  /// The number of members of a record.
  @usableFromInline func value<S: RecordSource>(of record: S.Record, in source: S) throws -> Int64 {
    var count: Int64 = 0
    for member in try source.members(of: relationship, from: record)
    where try condition.holds(for: member, in: source) {
      count += 1
    }
    return count
  }
}
