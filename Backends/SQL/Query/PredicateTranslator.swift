import CoherenceCore

/// Translates predicates into exactly equivalent SQL conditions. Returns `nil` for a predicate without such a
/// condition.
///
/// A condition is *total* when it is never null. Only a condition under NOT must be total: elsewhere null counts as
/// false.
struct PredicateTranslator {
  let schema: SQLSchema
  let dialect: any SQLDialect
  let spaces: IDSpaces
  /// The remaining depth of nested conditions, in entries of the engine's parser stack.
  private var remainingDepth: Int

  init(schema: SQLSchema, dialect: any SQLDialect, spaces: IDSpaces) {
    self.schema = schema
    self.dialect = dialect
    self.spaces = spaces
    remainingDepth = dialect.nestingRoom
  }

  /// The translator for a nested condition, with less remaining depth; `nil` when the depth does not suffice.
  ///
  /// - Parameter entries: The entries of the parser stack that the text around the nested condition takes.
  func nested(by entries: Int) -> PredicateTranslator? {
    guard remainingDepth >= entries else { return nil }
    var inner = self
    inner.remainingDepth -= entries
    return inner
  }

  /// Returns the condition of a predicate in a scope; `nil` without an exact translation.
  func condition(_ predicate: FetchPredicate, in scope: inout JoinScope, isTotal: Bool = false) -> SQLFragment? {
    switch predicate {
    case .constant(let value):
      return dialect.boolean(value)
    case .and(let parts):
      return joined(parts, separator: " AND ", isTrueWhenEmpty: true, in: &scope, isTotal: isTotal)
    case .or(let parts):
      return joined(parts, separator: " OR ", isTrueWhenEmpty: false, in: &scope, isTotal: isTotal)
    case .not(let inner):
      return nested(by: 2)?.condition(inner, in: &scope, isTotal: true).map { "NOT (\($0))" }
    case .comparison(let left, let comparison, let right, let options):
      return self.comparison(left, comparison, right, options, in: &scope).map { $0.condition(isTotal, dialect) }
    case .membership(let expression, let values, let options):
      return membership(expression, values, options, in: &scope).map { $0.condition(isTotal, dialect) }
    case .between(let value, let lower, let upper):
      let bounds: FetchPredicate = .and([
        .comparison(value, .greaterOrEqual, lower), .comparison(value, .lessOrEqual, upper),
      ])
      return condition(bounds, in: &scope, isTotal: isTotal)
    case .list:
      return nil
    case .quantified(let quantifier, let path, let inner):
      return quantified(quantifier, path, inner, in: &scope)
    }
  }

  /// The conditions of AND or OR.
  ///
  /// - Parameter isTrueWhenEmpty: The value without any condition.
  private func joined(
    _ parts: [FetchPredicate], separator: SQLFragment, isTrueWhenEmpty: Bool, in scope: inout JoinScope, isTotal: Bool
  ) -> SQLFragment? {
    guard !parts.isEmpty else { return dialect.boolean(isTrueWhenEmpty) }
    if parts.count == 1 { return condition(parts[0], in: &scope, isTotal: isTotal) }
    guard let inner = nested(by: 3 * (1 + [SQLFragment].groupLevels(of: parts.count))) else { return nil }
    var conditions: [SQLFragment] = []
    for part in parts {
      guard let condition = inner.condition(part, in: &scope, isTotal: isTotal) else { return nil }
      conditions.append(condition)
    }
    return conditions.joinedInGroups(by: separator)
  }

  // MARK: Operands

  /// A side of a comparison: a constant, which the statement binds, or an operand that the engine computes.
  enum Side {
    case constant(AttributeValue)
    case operand(QueryOperand)
  }

  /// The translation of an expression; `nil` without an exact one.
  func side(_ expression: FetchExpression, in scope: inout JoinScope) -> Side? {
    switch expression {
    case .value(let value): .constant(value)
    case .path(let path): operand(path, in: &scope).map(Side.operand)
    case .count(let path): count(path, in: &scope).map(Side.operand)
    case .subquery(let path, let condition): count(path, condition, in: &scope).map(Side.operand)
    case .arithmetic(let operation, let left, let right):
      arithmetic(operation, left, right, in: &scope).map(Side.operand)
    case .variable: nil
    }
  }

  /// The column at the end of a path; `nil` without one.
  func operand(_ path: PropertyPath, in scope: inout JoinScope) -> QueryOperand? {
    if let columns = scope.columns {
      guard path.names.count == 1, let index = Int(path.names[0]), columns.indices.contains(index) else { return nil }
      return columns[index]
    }
    return scope.atOuterLevel(path.outerLevel) { scope in
      (try? ResolvedPath(path, from: scope.entity)).flatMap { operand($0, in: &scope) }
    }
  }

  /// The operand at the end of a resolved path; `nil` without an exact translation.
  func operand(_ resolved: ResolvedPath, in scope: inout JoinScope) -> QueryOperand? {
    if case .aggregate(let aggregate) = resolved.target {
      return self.aggregate(aggregate, following: resolved.steps, in: &scope)
    }
    guard let alias = scope.alias(following: resolved.steps) else { return nil }
    switch resolved.target {
    case .attribute(let attribute):
      guard let column = column(of: attribute) else { return nil }
      return QueryOperand(
        sql: value(of: attribute, in: column, alias, of: resolved.owner), storage: attribute.type.storage)
    case .toOne(let relationship):
      guard let column = column(of: relationship) else { return nil }
      return QueryOperand(
        sql: .column(column, of: alias), storage: .reference, root: relationship.destination.root)
    case .identity:
      return QueryOperand(
        sql: .column(SQLTable.id, of: alias), storage: .reference, root: resolved.owner.root,
        isNullable: !resolved.steps.isEmpty)
    case .toMany, .aggregate:
      return nil
    }
  }

  /// An attribute's value. Records of other entities of the hierarchy have none, also where the engine wrote a default
  /// into their column.
  private func value(
    of attribute: AttributeDescription, in column: String, _ alias: String, of entity: EntityDescription
  ) -> SQLFragment {
    let column = SQLFragment.column(column, of: alias)
    guard !attribute.defaultValue.isNull, !entity.isKind(of: attribute.entity),
      let table = schema.table(for: attribute.entity)
    else { return column }
    let names = table.recordNames(of: attribute.entity).map(AttributeValue.string)
    let isOfEntity: SQLFragment = "\(.column(SQLTable.entity, of: alias)) \(list: names, as: .string)"
    return dialect.collated("CASE WHEN \(isOfEntity) THEN \(column) END", as: attribute.type.storage)
  }

  func column(of property: PropertyDescription) -> String? {
    schema.table(for: property.entity)?.column(of: property)?.name
  }

  // MARK: Comparisons

  /// A condition, and whether it is total.
  private struct Comparison {
    var sql: SQLFragment
    var isTotal: Bool

    func condition(_ mustBeTotal: Bool, _ dialect: any SQLDialect) -> SQLFragment {
      isTotal || !mustBeTotal ? sql : "COALESCE(\(sql), \(dialect.boolean(false)))"
    }
  }

  private func comparison(
    _ left: FetchExpression, _ comparison: ComparisonOperator, _ right: FetchExpression, _ options: StringOptions,
    in scope: inout JoinScope
  ) -> Comparison? {
    guard let leftSide = side(left, in: &scope), let rightSide = side(right, in: &scope) else { return nil }
    switch (leftSide, rightSide) {
    case (.operand(let operand), .constant(let value)):
      return compare(operand, comparison, value, options)
    case (.constant(let value), .operand(let operand)):
      return comparison.mirrored.flatMap { compare(operand, $0, value, options) }
    case (.operand(let first), .operand(let second)):
      return compare(first, comparison, second, options)
    case (.constant, .constant):
      return nil
    }
  }

  /// Compares an operand with a constant; `nil` without an exact translation.
  private func compare(
    _ operand: QueryOperand, _ comparison: ComparisonOperator, _ value: AttributeValue, _ options: StringOptions
  ) -> Comparison? {
    if value.isNull { return compareWithNull(operand, comparison) }
    if let bound = IntegerBound(value, for: operand) {
      // No integer of a column is beyond all integers, but a sum may be.
      if operand.mayBeOutOfRange, bound.isBeyondAll { return nil }
      return compare(operand, comparison, bound)
    }
    guard let constant = operand.constant(value, spaces: spaces) else { return nil }
    guard case .value(let bound, let storage) = constant else { return compareWithUnreachable(comparison) }
    if operand.storage == .reference, comparison != .equal, comparison != .notEqual { return nil }
    guard let (operand, bound) = folded(operand, bound, comparison, options) else { return nil }
    let other = SQLFragment.value(bound, storage)
    if let symbol = comparison.symbol {
      return Comparison(sql: "\(operand.sql) \(symbol) \(other)", isTotal: !operand.isNullable)
    }
    switch comparison {
    case .equal:
      return Comparison(sql: "\(operand.sql) = \(other)", isTotal: !operand.isNullable)
    case .notEqual:
      return Comparison(sql: "\(operand.sql) \(dialect.nullSafeDifferent) \(other)", isTotal: true)
    default:
      guard case .string(let needle) = bound else { return nil }
      return textSearch(operand.sql, comparison, needle)
    }
  }

  /// Equality with a constant that no record can have.
  private func compareWithUnreachable(_ comparison: ComparisonOperator) -> Comparison? {
    switch comparison {
    case .equal: Comparison(sql: dialect.boolean(false), isTotal: true)
    case .notEqual: Comparison(sql: dialect.boolean(true), isTotal: true)
    default: nil
    }
  }

  /// Compares a column of integers with a fractional or out-of-range number, by the integers on both sides of it.
  private func compare(_ operand: QueryOperand, _ comparison: ComparisonOperator, _ bound: IntegerBound) -> Comparison?
  {
    let isBelow: Bool
    switch comparison {
    case .less, .lessOrEqual: isBelow = true
    case .greater, .greaterOrEqual: isBelow = false
    default: return compareWithUnreachable(comparison)
    }
    switch bound {
    case .between(let lower):
      let symbol: SQLFragment = isBelow ? "<=" : ">"
      return Comparison(sql: "\(operand.sql) \(symbol) \(key: lower)", isTotal: !operand.isNullable)
    case .beyondAll(let isAbove):
      let sql: SQLFragment = isBelow == isAbove ? "\(operand.sql) IS NOT NULL" : dialect.boolean(false)
      return Comparison(sql: sql, isTotal: true)
    }
  }

  /// Both sides without the differences that the options ignore; `nil` when the engine cannot remove them.
  private func folded(
    _ operand: QueryOperand, _ value: AttributeValue, _ comparison: ComparisonOperator, _ options: StringOptions
  ) -> (QueryOperand, AttributeValue)? {
    guard !options.isEmpty, case .string(let text) = value else { return (operand, value) }
    guard comparison != .matches else { return nil }
    let constant = text.folded(options)
    let constants = FoldedConstants(
      [constant], countsLetters: comparison == .like && SQLTextPattern(constant).countsLetters)
    // An order of texts depends on all their letters.
    let sql =
      comparison.symbol == nil
      ? dialect.folded(operand.sql, options, comparing: constants) : dialect.folded(operand.sql, options)
    return operand.replacing(sql).map { ($0, .string(constant)) }
  }

  /// A text without the differences that the options ignore; any other operand as it is.
  func folded(_ operand: QueryOperand, _ options: StringOptions) -> QueryOperand? {
    guard !options.isEmpty, operand.storage == .string else { return operand }
    return operand.replacing(dialect.folded(operand.sql, options))
  }

  /// A text that compares with folded constants as the folded text does; any other operand as it is.
  private func folded(
    _ operand: QueryOperand, _ options: StringOptions, comparing constants: [AttributeValue]
  ) -> QueryOperand? {
    guard !options.isEmpty, operand.storage == .string else { return operand }
    let texts = constants.compactMap { if case .string(let text) = $0 { text } else { nil } }
    return operand.replacing(dialect.folded(operand.sql, options, comparing: FoldedConstants(texts)))
  }

  /// Compares an operand with a missing value, which equals other missing values and is neither less nor greater.
  private func compareWithNull(_ operand: QueryOperand, _ comparison: ComparisonOperator) -> Comparison {
    switch comparison {
    case .equal: Comparison(sql: "\(operand.sql) IS NULL", isTotal: true)
    case .notEqual: Comparison(sql: "\(operand.sql) IS NOT NULL", isTotal: true)
    default: Comparison(sql: dialect.boolean(false), isTotal: true)
    }
  }

  /// Compares two operands; `nil` without an exact translation.
  private func compare(
    _ left: QueryOperand, _ comparison: ComparisonOperator, _ right: QueryOperand, _ options: StringOptions
  ) -> Comparison? {
    guard let first = folded(left, options), let second = folded(right, options) else { return nil }
    guard dialect.comparesExactly(first.storage, second.storage) else { return nil }
    if first.storage == .reference {
      guard first.root === second.root, comparison == .equal || comparison == .notEqual else { return nil }
    }
    let isNullable = first.isNullable || second.isNullable
    if let symbol = comparison.symbol {
      return Comparison(sql: "\(first.sql) \(symbol) \(second.sql)", isTotal: !isNullable)
    }
    switch comparison {
    case .equal:
      return Comparison(sql: "\(first.sql) \(dialect.nullSafeEqual) \(second.sql)", isTotal: true)
    case .notEqual:
      return Comparison(sql: "\(first.sql) \(dialect.nullSafeDifferent) \(second.sql)", isTotal: true)
    default:
      return nil
    }
  }

  /// Searches a text, byte for byte; `nil` without an exact translation.
  private func textSearch(_ text: SQLFragment, _ comparison: ComparisonOperator, _ needle: String) -> Comparison? {
    switch comparison {
    case .beginsWith where needle.isEmpty, .endsWith where needle.isEmpty, .contains where needle.isEmpty:
      // Every text contains the empty text.
      return Comparison(sql: "\(text) IS NOT NULL", isTotal: true)
    case .beginsWith:
      // A range from the prefix to the least text after all texts with the prefix can use an index.
      let lower: SQLFragment = "\(text) >= \(text: needle)"
      let upper = needle.successorOfPrefix.map { " AND \(text) < \(text: $0)" as SQLFragment } ?? ""
      return Comparison(sql: "(\(lower)\(upper))", isTotal: false)
    case .endsWith: return Comparison(sql: dialect.endsWith(text, needle), isTotal: false)
    case .contains: return Comparison(sql: dialect.contains(text, needle), isTotal: false)
    case .like: return dialect.fits(text, SQLTextPattern(needle)).map { Comparison(sql: $0, isTotal: false) }
    default: return nil
    }
  }

  // MARK: Membership

  /// Tests whether an expression has one of the values; `nil` without an exact translation.
  private func membership(
    _ expression: FetchExpression, _ values: [AttributeValue], _ options: StringOptions, in scope: inout JoinScope
  ) -> Comparison? {
    guard case .operand(let plain)? = side(expression, in: &scope) else { return nil }
    if plain.mayBeOutOfRange, values.contains(where: { IntegerBound($0, for: plain)?.isBeyondAll == true }) {
      return nil
    }
    var list: [AttributeValue] = []
    var storage = plain.storage
    // No integer equals a number between two integers or beyond all integers.
    for value in values where !value.isNull && IntegerBound(value, for: plain) == nil {
      guard let constant = plain.constant(value, spaces: spaces) else { return nil }
      guard case .value(let bound, let type) = constant else { continue }
      if case .string(let text) = bound { list.append(.string(text.folded(options))) } else { list.append(bound) }
      storage = type
    }
    guard let operand = folded(plain, options, comparing: list) else { return nil }
    guard dialect.bindsArrays || list.count <= dialect.maximumBindings else { return nil }
    let isNull: SQLFragment = "\(operand.sql) IS NULL"
    let hasNull = values.contains(where: \.isNull)
    guard !list.isEmpty else {
      return Comparison(sql: hasNull ? isNull : dialect.boolean(false), isTotal: true)
    }
    let isMember: SQLFragment = "\(operand.sql) \(list: list, as: storage)"
    if hasNull { return Comparison(sql: "(\(isNull) OR \(isMember))", isTotal: true) }
    return Comparison(sql: isMember, isTotal: !operand.isNullable)
  }
}

extension ComparisonOperator {
  /// The operator of SQL, for comparisons of order.
  fileprivate var symbol: SQLFragment? {
    switch self {
    case .less: "<"
    case .lessOrEqual: "<="
    case .greater: ">"
    case .greaterOrEqual: ">="
    default: nil
    }
  }
}

extension String {
  /// The least text, by UTF-8 bytes, after every text beginning with this one; `nil` for none. The order of UTF-8 bytes
  /// is the order of scalars.
  fileprivate var successorOfPrefix: String? {
    var scalars = Array(unicodeScalars)
    while let last = scalars.popLast() {
      // Surrogates are no scalars: after U+D7FF comes U+E000.
      let next = last.value == 0xD7FF ? 0xE000 : last.value + 1
      if let scalar = Unicode.Scalar(next) {
        scalars.append(scalar)
        return String(String.UnicodeScalarView(scalars))
      }
    }
    return nil
  }
}
