/// A predicate compiled for an entity, to be evaluated for many records. For stores.
///
/// The preparation resolves names, checks types, and compiles patterns, once for all records. The results equal the
/// results of ``FetchPredicate/evaluate(_:with:)``. May be used on several threads at the same time.
public struct PreparedPredicate: Sendable {
  /// The predicate in resolved form: paths are resolved, and constants are converted to the type of their property.
  /// Preparing it again changes nothing.
  public let predicate: FetchPredicate
  @usableFromInline let condition: Condition
  /// The parts of a conjunction by the records that they read; `nil` if all parts or none read the record alone, and
  /// for another predicate.
  let split: SplitConjunction?

  /// The relationships and the entity hierarchies on which the result depends, without the fetched hierarchy.
  /// Hierarchies are identified by their roots.
  public let dependencies: (relationships: Set<RelationshipDescription>, entities: Set<EntityDescription>)

  /// Prepares a predicate for records of an entity and its subentities.
  ///
  /// - Throws: The errors of ``FetchPredicate/checked(for:)``; ``ErrorCode/invalidPredicate`` for a malformed constant
  ///   pattern.
  public init(_ predicate: FetchPredicate, for entity: EntityDescription) throws(CoherenceError) {
    self.predicate = try predicate.checked(for: entity)
    var compiler = PredicateCompiler(entity: entity)
    condition = try compiler.condition(self.predicate)
    split = SplitConjunction(condition)
    dependencies = compiler.dependencies
  }

  /// Whether a record of the entity, or of a subentity, satisfies the predicate. The evaluation reads only necessary
  /// values: a conjunction ends at its first false part, a disjunction at its first true part.
  ///
  /// - Throws: Errors of the source; ``ErrorCode/invalidPredicate`` for a malformed pattern in a property's value.
  @inlinable
  public func matches<S: RecordSource>(_ record: S.Record, in source: S) throws -> Bool {
    try condition.holds(for: record, in: source)
  }
}

extension FetchPredicate {
  /// Whether a record satisfies the predicate. This evaluation defines the meaning of predicates for all stores.
  ///
  /// For more than one record, prepare the predicate once: ``PreparedPredicate``.
  ///
  /// - Throws: The errors of ``PreparedPredicate/init(_:for:)`` for the record's entity, and errors of the source.
  public func evaluate<S: RecordSource>(_ record: S.Record, with source: S) throws -> Bool {
    try PreparedPredicate(self, for: source.entity(of: record)).matches(record, in: source)
  }
}
