/// A predicate compiled for an entity, to be evaluated for many records. For stores.
///
/// Preparing resolves names, checks types, and compiles patterns, once for all records. The results are those of
/// ``FetchPredicate/evaluate(_:with:)``. May be used on several threads at the same time.
public struct PreparedPredicate: Sendable {
  /// The predicate in resolved form: paths resolved, constants converted to their property's type. Preparing it again
  /// changes nothing.
  public let predicate: FetchPredicate
  @usableFromInline let condition: Condition

  /// Every relationship, and every entity hierarchy other than the fetched one, that the result depends on. Hierarchies
  /// are identified by their roots.
  public let dependencies: (relationships: Set<RelationshipDescription>, entities: Set<EntityDescription>)

  /// Prepares a predicate for records of an entity and its subentities.
  ///
  /// - Throws: ``ErrorCode/unknownProperty`` for a name that the entity does not have;
  ///   ``ErrorCode/invalidPredicate`` when operands cannot be compared, or a pattern cannot be read.
  public init(_ predicate: FetchPredicate, for entity: EntityDescription) throws(CoherenceError) {
    self.predicate = try predicate.checked(for: entity)
    var compiler = PredicateCompiler(entity: entity)
    condition = try compiler.condition(self.predicate)
    dependencies = compiler.dependencies
  }

  /// Whether a record of the entity, or of a subentity, satisfies the predicate. Reads only the values that decide: a
  /// conjunction ends at its first false part, a disjunction at its first true part.
  ///
  /// - Throws: What the source throws; ``ErrorCode/invalidPredicate`` when a property's value, used as a pattern, is
  ///   malformed.
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
