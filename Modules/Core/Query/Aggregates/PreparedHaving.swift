/// A having predicate compiled for the columns of grouped rows.
struct PreparedHaving {
  /// The predicate in resolved form; its paths are the indexes of columns.
  let predicate: FetchPredicate
  private let condition: Condition
  private let source: ColumnSource

  /// - Parameter predicate: A condition whose paths are the indexes of columns.
  /// - Throws: ``ErrorCode/invalidPredicate`` when operands cannot be compared, or a pattern cannot be read.
  init(_ predicate: FetchPredicate, on columns: GroupColumns) throws(CoherenceError) {
    self.predicate = try predicate.flattened().resolved(by: PredicateChecker(columns: columns))
    var compiler = PredicateCompiler(columns: columns)
    condition = try compiler.condition(self.predicate)
    source = ColumnSource(entity: columns.entity)
  }

  /// Whether a row satisfies the predicate.
  func matches(_ row: [AttributeValue]) throws -> Bool { try condition.holds(for: row, in: source) }
}

/// Rows of columns, for the evaluator. The checks leave no path but the indexes of columns.
private struct ColumnSource: RecordSource {
  let entity: EntityDescription

  func id(of record: [AttributeValue]) -> ManagedObjectID {
    ManagedObjectID(space: entity.root.temporarySpace, key: 0)
  }
  func entity(of record: [AttributeValue]) -> EntityDescription { entity }
  func value(_ slot: Int, of record: [AttributeValue]) -> AttributeValue { record[slot] }
  func target(of relationship: RelationshipDescription, from record: [AttributeValue]) -> [AttributeValue]? { nil }
  func members(of relationship: RelationshipDescription, from record: [AttributeValue]) -> [[AttributeValue]] { [] }
}
