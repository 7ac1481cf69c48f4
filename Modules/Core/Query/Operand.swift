/// A source of a value for the evaluator, resolved to slots.
@usableFromInline enum Operand: Sendable {
  case constant(AttributeValue)
  /// A slot that every record of the entity has.
  case slot(Int)
  /// The identifier of the record.
  case identity
  /// A value behind relationships, or in a slot that only some records have.
  case remote(RecordPath, RecordPath.End)
  /// The number of members that satisfy a condition.
  case filteredCount(RecordPath, FilteredCount)
  /// The result of a calculation.
  case calculation(Calculation)
}

/// A path over to-one relationships.
@usableFromInline struct RecordPath: Sendable {
  @usableFromInline let steps: [Step]
  /// The number of conditions on members between the path and the record at which it begins.
  @usableFromInline let outerLevel: Int

  /// A to-one relationship of the path.
  @usableFromInline struct Step: Sendable {
    @usableFromInline let relationship: RelationshipDescription
    /// The entity with the relationship; `nil` if every record on the path has the relationship.
    @usableFromInline let declaringEntity: EntityDescription?
  }

  /// The value at the end of the path. The payload names the entity with the property; `nil` if every record has the
  /// property.
  @usableFromInline enum End: Sendable {
    case slot(Int, EntityDescription?)
    case identity
    case count(RelationshipDescription, EntityDescription?)
    case aggregate(MemberFold)
  }

  init(steps: [Step], outerLevel: Int) {
    self.steps = steps
    self.outerLevel = outerLevel
  }

  /// Whether the record at the end of the path is not the record itself.
  var leadsToOtherRecord: Bool { !steps.isEmpty || outerLevel > 0 }

  /// The record at the end of the path; `nil` if a record on the path is missing.
  @inlinable
  func follow<S: RecordSource>(
    from record: S.Record, within outer: OuterRecords<S.Record>?, in source: S
  ) throws -> S.Record? {
    var record = record
    if outerLevel > 0 {
      guard let start = outer?.record(at: outerLevel) else { return nil }
      record = start
    }
    for step in steps {
      if let declaringEntity = step.declaringEntity, !source.entity(of: record).isKind(of: declaringEntity) {
        return nil
      }
      guard let next = try source.target(of: step.relationship, from: record) else { return nil }
      record = next
    }
    return record
  }
}

extension Operand {
  /// The operand's value for a record. Null if a record on the path is missing, or the record's entity does not have
  /// the property.
  @inlinable
  func value<S: RecordSource>(
    of record: S.Record, within outer: OuterRecords<S.Record>? = nil, in source: S
  ) throws -> AttributeValue {
    switch self {
    case .constant(let value): value
    case .slot(let slot): try source.value(slot, of: record)
    case .identity: .reference(source.id(of: record))
    case .filteredCount(let path, let count):
      try count.value(
        of: try path.follow(from: record, within: outer, in: source), for: record, within: outer, in: source)
    case .remote(let path, let end):
      try end.value(of: try path.follow(from: record, within: outer, in: source), in: source)
    case .calculation(let calculation): try calculation.value(of: record, within: outer, in: source)
    }
  }
}

extension RecordPath.End {
  /// The value for the record at the end of the path; for a missing record null, or the value without members.
  @inlinable func value<S: RecordSource>(of record: S.Record?, in source: S) throws -> AttributeValue {
    switch self {
    case .slot(let slot, let declaringEntity):
      guard let record, has(declaringEntity, record, in: source) else { return .null }
      return try source.value(slot, of: record)
    case .identity:
      return record.map { .reference(source.id(of: $0)) } ?? .null
    case .count(let relationship, let declaringEntity):
      guard let record, has(declaringEntity, record, in: source) else { return .int(0) }
      return .int(Int64(try source.memberCount(of: relationship, from: record)))
    case .aggregate(let fold):
      guard let record, has(fold.declaringEntity, record, in: source) else { return fold.valueWithoutMembers }
      return try fold.value(of: record, in: source)
    }
  }

  /// Whether a record has a property that an entity declares; `nil` for a property that every record has.
  @inlinable func has<S: RecordSource>(_ declaringEntity: EntityDescription?, _ record: S.Record, in source: S) -> Bool
  {
    guard let declaringEntity else { return true }
    return source.entity(of: record).isKind(of: declaringEntity)
  }
}
