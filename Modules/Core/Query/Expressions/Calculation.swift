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

  /// Whether both numbers are values of the record itself.
  var readsRecordAlone: Bool { left.readsRecordAlone && right.readsRecordAlone }

  /// The result for a record.
  @usableFromInline func value<S: RecordSource>(
    of record: S.Record, within outer: OuterRecords<S.Record>?, in source: S
  ) throws -> AttributeValue {
    arithmetic.value(
      try left.value(of: record, within: outer, in: source), try right.value(of: record, within: outer, in: source))
  }
}

/// The number of members that satisfy a condition, compiled for the evaluator. A class, so that an evaluation retains only
/// one reference.
@usableFromInline final class FilteredCount: Sendable {
  private let relationship: RelationshipDescription
  private let condition: Condition
  /// The entity with the relationship; `nil` if every record has the relationship.
  private let declaringEntity: EntityDescription?
  /// Whether the condition reads values of the records around the member.
  private let readsOuterRecords: Bool
  /// Whether many records may have the same owner of members.
  private let hasSharedOwners: Bool

  init(
    _ relationship: RelationshipDescription, _ condition: Condition, declaringEntity: EntityDescription?,
    readsOuterRecords: Bool, hasSharedOwners: Bool
  ) {
    self.relationship = relationship
    self.condition = condition
    self.declaringEntity = declaringEntity
    self.readsOuterRecords = readsOuterRecords
    self.hasSharedOwners = hasSharedOwners
  }

  /// The number of members of an owner.
  ///
  /// - Parameters:
  ///   - owner: The record with the members; `nil` if a record on the path to it is missing.
  ///   - record: The record whose condition has the count.
  @usableFromInline func value<S: RecordSource>(
    of owner: S.Record?, for record: S.Record, within outer: OuterRecords<S.Record>?, in source: S
  ) throws -> AttributeValue {
    guard let owner, declaringEntity.map({ source.entity(of: owner).isKind(of: $0) }) ?? true else { return .int(0) }
    // The number of members depends on the records around them, or on the owner alone.
    if readsOuterRecords { return try count(owner, within: OuterRecords(record, outer), in: source) }
    guard hasSharedOwners, let computed = (source as? any AggregateRetaining)?.computedAggregates else {
      return try count(owner, within: nil, in: source)
    }
    return try computed.value(of: self, for: source.id(of: owner)) { try count(owner, within: nil, in: source) }
  }

  private func count<S: RecordSource>(
    _ owner: S.Record, within around: OuterRecords<S.Record>?, in source: S
  ) throws -> AttributeValue {
    var count: Int64 = 0
    for member in try source.members(of: relationship, from: owner)
    where try condition.holds(for: member, within: around, in: source) {
      count += 1
    }
    return .int(count)
  }
}
