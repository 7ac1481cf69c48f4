/// An aggregate of the members of a to-many relationship, at the end of a path such as `tracks.@sum.length`.
///
/// The result is one value for each record with the relationship; see ``AggregateFunction`` for its type, and for its
/// value without members. An evaluation in memory reads all members, unless the aggregate is their number.
public struct MemberAggregate: Sendable, Hashable {
  /// The function.
  public let function: AggregateFunction
  /// The relationship whose members are aggregated.
  public let relationship: RelationshipDescription
  /// The path from a member to the value; `nil` for the number of members.
  public let operand: ResolvedPath?
  /// The representation of the result. A sum of integers or decimals out of its range is a double instead.
  public let storage: StorageType

  /// Resolves an aggregate of the members of a relationship.
  ///
  /// - Parameters:
  ///   - operandNames: The names after the function.
  ///   - path: The whole path, for messages.
  init(
    _ function: AggregateFunction, of relationship: RelationshipDescription, operandNames: [String],
    in path: PropertyPath
  ) throws(CoherenceError) {
    self.function = function
    self.relationship = relationship
    guard !operandNames.isEmpty else {
      guard function == .count else {
        throw CoherenceError(
          .invalidPredicate, "'\(path)' names no attribute of the members after \(function.pathOperator); add its name."
        )
      }
      operand = nil
      storage = .int64
      return
    }
    let operand = try ResolvedPath(PropertyPath(names: operandNames), from: relationship.destination)
    if case .aggregate = operand.target {
      throw CoherenceError(
        .invalidPredicate, "'\(path)' is an aggregate of an aggregate; aggregate an attribute of the members.")
    }
    storage = try function.result(for: operand, at: path.description)
    self.operand = operand
  }
}

/// An aggregate of members compiled for the evaluator. A class, so that an evaluation retains only one reference.
@usableFromInline final class MemberFold: Sendable {
  private let function: AggregateFunction
  private let relationship: RelationshipDescription
  /// The entity with the relationship; `nil` if every record has the relationship.
  @usableFromInline let declaringEntity: EntityDescription?
  private let operand: Operand
  private let storage: StorageType
  /// The value for a record without members.
  @usableFromInline let valueWithoutMembers: AttributeValue
  /// Whether many records may have the same owner of members.
  private let hasSharedOwners: Bool

  /// - Parameters:
  ///   - operandStorage: The representation of the members' values.
  ///   - hasSharedOwners: Whether the owner of the members is another record, which many records may have in common.
  init(
    _ aggregate: MemberAggregate, operand: Operand, operandStorage: StorageType, declaringEntity: EntityDescription?,
    hasSharedOwners: Bool
  ) {
    function = aggregate.function
    relationship = aggregate.relationship
    self.declaringEntity = declaringEntity
    self.operand = operand
    storage = operandStorage
    self.hasSharedOwners = hasSharedOwners
    valueWithoutMembers = Self.fold(function, storage, [])
  }

  /// The aggregate of the members of a record.
  @usableFromInline func value<S: RecordSource>(of record: S.Record, in source: S) throws -> AttributeValue {
    guard hasSharedOwners, let computed = (source as? any AggregateRetaining)?.computedAggregates else {
      return try compute(for: record, in: source)
    }
    return try computed.value(of: self, for: source.id(of: record)) { try compute(for: record, in: source) }
  }

  private func compute<S: RecordSource>(for record: S.Record, in source: S) throws -> AttributeValue {
    var values: [AttributeValue] = []
    for member in try source.members(of: relationship, from: record) {
      values.append(try operand.value(of: member, in: source))
    }
    return Self.fold(function, storage, values)
  }

  /// The aggregate of values, some of which may be missing.
  private static func fold(
    _ function: AggregateFunction, _ storage: StorageType, _ values: [AttributeValue]
  ) -> AttributeValue {
    func result(_ function: AggregateFunction) -> AttributeValue {
      var accumulator = Accumulator(function, of: storage)
      for value in values where !value.isNull { accumulator.add(value) }
      return accumulator.result
    }
    guard function == .average else { return result(function) }
    return .average(sum: result(.sum), count: result(.count))
  }
}
