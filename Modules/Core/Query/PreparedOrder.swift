/// Criteria of order compiled for an entity, to compare many records. For stores.
///
/// The preparation resolves names and checks types once for all records. The order equals the order of every other
/// store, except that records equal by all criteria are not ordered by their keys. May be used on several threads at
/// the same time.
public struct PreparedOrder: Sendable {
  /// A criterion compiled for the evaluator.
  @usableFromInline struct Key: Sendable {
    @usableFromInline let operand: Operand
    @usableFromInline let isAscending: Bool
    @usableFromInline let options: StringOptions
    @usableFromInline let missingValues: MissingValuePlacement
  }
  @usableFromInline let keys: [Key]

  /// The relationships and the entity hierarchies on which the order depends, without the fetched hierarchy.
  /// Hierarchies are identified by their roots.
  public let dependencies: (relationships: Set<RelationshipDescription>, entities: Set<EntityDescription>)

  /// Prepares criteria for records of an entity and its subentities.
  ///
  /// - Throws: ``ErrorCode/unknownProperty`` for a name that the entity does not have;
  ///   ``ErrorCode/invalidFetchRequest`` for a path to another property than an attribute or an aggregate of members,
  ///   and for options with values other than texts; ``ErrorCode/invalidPredicate`` for a path that continues after an
  ///   attribute, and for a key path without a name.
  public init(_ keys: [SortKey], for entity: EntityDescription) throws(CoherenceError) {
    var compiler = PredicateCompiler(entity: entity)
    self.keys = try keys.map { (key: SortKey) throws(CoherenceError) -> Key in
      try key.path.checkNames()
      let path = try ResolvedPath(key.path, from: entity)
      let storage: StorageType
      switch path.target {
      case .attribute(let attribute): storage = attribute.type.storage
      case .aggregate(let aggregate): storage = aggregate.storage
      case .toOne, .toMany, .identity:
        throw CoherenceError(
          .invalidFetchRequest,
          "'\(key.path)' is no attribute; records are ordered by attributes and by aggregates of members.")
      }
      guard key.options.isEmpty || storage == .string else {
        throw CoherenceError(
          .invalidFetchRequest, "'\(key.path)' is not text; only text is ordered without regard to case or diacritics.")
      }
      return Key(
        operand: compiler.operand(path), isAscending: key.isAscending, options: key.options,
        missingValues: key.missingValues)
    }
    dependencies = compiler.dependencies
  }

  /// The order of two records, whose values the source reads at each call: negative, zero or positive. Zero for
  /// records equal by every criterion, which the caller must order otherwise.
  ///
  /// - Throws: Errors of the source.
  @inlinable
  public func order<S: RecordSource>(_ a: S.Record, _ b: S.Record, in source: S) throws -> Int {
    for key in keys {
      let left = try key.operand.value(of: a, in: source)
      let right = try key.operand.value(of: b, in: source)
      let order = key.order(key.sortable(left), key.sortable(right))
      if order != 0 { return order }
    }
    return 0
  }

  /// Returns the sort values of a record, one for each criterion; texts without the differences that the options
  /// ignore. To sort many records, read each record's values once and compare the values.
  ///
  /// - Throws: Errors of the source.
  @inlinable
  public func sortValues<S: RecordSource>(of record: S.Record, in source: S) throws -> [AttributeValue] {
    try keys.map { key in key.sortable(try key.operand.value(of: record, in: source)) }
  }

  /// The order of two records by their ``sortValues(of:in:)``: negative, zero or positive. Reads nothing. Zero for
  /// records equal by every criterion, which the caller must order otherwise.
  public func order(_ a: [AttributeValue], _ b: [AttributeValue]) -> Int {
    for index in keys.indices {
      let order = keys[index].order(a[index], b[index])
      if order != 0 { return order }
    }
    return 0
  }
}

extension PreparedOrder.Key {
  /// The value without the differences that the options ignore.
  @usableFromInline func sortable(_ value: AttributeValue) -> AttributeValue {
    guard !options.isEmpty, case .string(let text) = value else { return value }
    return .string(text.folded(options))
  }

  @usableFromInline func order(_ a: AttributeValue, _ b: AttributeValue) -> Int {
    missingValues.order(a, b, isAscending: isAscending)
  }
}
