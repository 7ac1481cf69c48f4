extension FetchPredicate {
  /// Checks the predicate for an entity and returns it in resolved form.
  ///
  /// - Constants are converted to the type of the other operand, if the conversion loses no precision. A text that is
  ///   compared with a URL for equality gets the form in which URLs are stored.
  /// - A quantifier's path is split at its to-many relationship: in `ANY tracks.artist.name == "A"` the condition
  ///   applies to the tracks, and `artist.name` is a path of a track.
  /// - A test whether a filtered count is zero, `SUBQUERY(…).@count > 0` or `== 0`, becomes the condition `ANY` or `NONE`.
  ///   Its path may go on after the to-many relationship, as the path of a quantifier may.
  /// - `CONTAINS` between a to-many relationship and an object becomes a condition that the object is a member.
  ///
  /// Stores receive only checked predicates. Checking a predicate again changes nothing. Reads no record; the cost
  /// grows with the number of parts and constants. May be called on any thread.
  ///
  /// - Parameter entity: The entity whose records the predicate is about, subentities included. Names of subentities
  ///   are valid.
  /// - Returns: An equivalent predicate.
  /// - Throws: ``ErrorCode/unknownProperty`` for a name that the entity does not have; ``ErrorCode/invalidPredicate``
  ///   for incomparable operands, for a variable without a value, and for a condition of more than 200 levels;
  ///   ``ErrorCode/invalidFetchRequest`` for an aggregate function without a meaning for its values. The sentences of
  ///   the errors name properties, but contain no constants.
  public func checked(for entity: EntityDescription) throws(CoherenceError) -> FetchPredicate {
    try flattened().resolved(for: entity)
  }

  /// Checks a flattened predicate and returns it in resolved form.
  func resolved(for entity: EntityDescription) throws(CoherenceError) -> FetchPredicate {
    try resolved(by: PredicateChecker(entity: entity))
  }

  /// Checks a flattened predicate and returns it in resolved form.
  func resolved(by checker: PredicateChecker) throws(CoherenceError) -> FetchPredicate {
    switch self {
    case .constant:
      return self
    case .comparison(let left, let comparison, let right, let options):
      return try checker.comparison(left, comparison, right, options)
    case .membership(let expression, let values, let options):
      return try checker.membership(expression, values, options)
    case .between(let expression, let lower, let upper):
      return try checker.between(expression, lower, upper)
    case .list(_, _, let name, _):
      throw .unsubstituted(name)
    case .and(let predicates):
      return .and(try Self.resolved(predicates, by: checker))
    case .or(let predicates):
      return .disjunction(try Self.resolved(predicates, by: checker))
    case .not(let predicate):
      return .not(try predicate.resolved(by: checker))
    case .quantified(let quantifier, let path, let predicate):
      return try QuantifiedPath(quantifier, path, predicate).checked(by: checker)
    }
  }

  private static func resolved(_ predicates: [FetchPredicate], by checker: PredicateChecker) throws(CoherenceError)
    -> [FetchPredicate]
  {
    var result: [FetchPredicate] = []
    for predicate in predicates { result.append(try predicate.resolved(by: checker)) }
    return result
  }
}

/// Checks the parts of a predicate and returns them in resolved form: the operands of a comparison must be comparable
/// by its operator.
struct PredicateChecker {
  let entity: EntityDescription
  /// The entities of the records around a condition on members, from the outermost to the innermost.
  private let enclosing: [EntityDescription]
  /// The columns to which paths refer; `nil` when paths refer to properties of the entity.
  private let columns: GroupColumns?

  /// Makes a checker of conditions on records.
  init(entity: EntityDescription) { self.init(entity: entity, enclosing: []) }

  private init(entity: EntityDescription, enclosing: [EntityDescription]) {
    self.entity = entity
    self.enclosing = enclosing
    columns = nil
  }

  /// The checker of a condition on the members of a relationship.
  func members(of relationship: RelationshipDescription) -> PredicateChecker {
    PredicateChecker(entity: relationship.destination, enclosing: enclosing + [entity])
  }

  /// Makes a checker of conditions on grouped rows. Their paths are the indexes of columns.
  init(columns: GroupColumns) {
    entity = columns.entity
    enclosing = []
    self.columns = columns
  }

  /// Checks a comparison and returns it in resolved form.
  func comparison(
    _ left: FetchExpression, _ comparison: ComparisonOperator, _ right: FetchExpression, _ options: StringOptions
  ) throws(CoherenceError) -> FetchPredicate {
    for case .variable(let name) in [left, right] { throw .unsubstituted(name) }
    if let membership = try self.membership(left, comparison, right) { return membership }
    if let members = try described(left, comparison, right) { return members }
    let (left, right) = (try resolved(left), try resolved(right))
    let leftKind = try kind(of: left)
    let rightKind = try kind(of: right)
    try checkAreComparable(left, leftKind, right, rightKind)
    for (expression, kind) in [(left, leftKind), (right, rightKind)] {
      try checkOperator(comparison, options, on: kind, of: expression)
    }
    if comparison == .equal || comparison == .notEqual, case .text? = leftKind, case .text? = rightKind {
      return .comparison(try stored(left, beside: right), comparison, try stored(right, beside: left), options)
    }
    return FetchPredicate.comparison(
      left.converted(to: rightKind), comparison, right.converted(to: leftKind), options
    ).countingNoFurther
  }

  /// Returns a constant beside a path to URLs in the form in which URLs are stored. Other expressions are returned
  /// unchanged.
  private func stored(
    _ expression: FetchExpression, beside other: FetchExpression
  ) throws(CoherenceError) -> FetchExpression {
    guard case .value(let value) = expression, try isOfURLs(other) else { return expression }
    return .value(value.storedURL)
  }

  /// Whether the texts of an expression are the texts of URLs.
  private func isOfURLs(_ expression: FetchExpression) throws(CoherenceError) -> Bool {
    guard case .path(let path) = expression else { return false }
    if let columns { return columns.columns[try columns.slot(at: path)].storesURLs }
    return try resolve(path).storesURLs
  }

  /// Resolves `relationship CONTAINS object` to a condition on the members; `nil` for another comparison.
  private func membership(_ left: FetchExpression, _ comparison: ComparisonOperator, _ right: FetchExpression)
    throws(CoherenceError) -> FetchPredicate?
  {
    guard columns == nil, comparison == .contains, case .path(let path) = left, case .value(.reference) = right,
      case .toMany = try resolve(path).target
    else { return nil }
    return try FetchPredicate.quantified(.any, path, .comparison(.path(.own), .equal, right)).resolved(by: self)
  }

  /// Resolves the text by which a condition on members describes itself, `SUBQUERY(path, …).@count > 0` or `== 0`, where
  /// the path continues after the to-many relationship or ends before it, as the path of a quantifier may; `nil` for
  /// another comparison.
  private func described(_ left: FetchExpression, _ comparison: ComparisonOperator, _ right: FetchExpression)
    throws(CoherenceError) -> FetchPredicate?
  {
    guard columns == nil, case .subquery(let path, let condition) = left, right == .value(.int(0)),
      comparison == .greater || comparison == .equal
    else { return nil }
    try path.checkNames()
    if case .toMany? = try? ResolvedPath(path, from: start(of: path)).target { return nil }
    let quantifier: FetchPredicate.Quantifier = comparison == .greater ? .any : .none
    return try? QuantifiedPath(quantifier, path, condition).checked(by: self)
  }

  /// Checks the membership in a list of constants and returns it in resolved form.
  func membership(_ expression: FetchExpression, _ values: [AttributeValue], _ options: StringOptions)
    throws(CoherenceError) -> FetchPredicate
  {
    let expression = try resolved(expression)
    let kind = try kind(of: expression)
    try checkOperator(.equal, options, on: kind, of: expression)
    for value in values { try checkAreComparable(expression, kind, .value(value), try self.kind(of: .value(value))) }
    if case .text? = kind, try isOfURLs(expression) {
      return .membership(expression, in: values.map(\.storedURL), options)
    }
    return .membership(expression, in: values.map { kind?.operand(from: $0) ?? $0 }, options)
  }

  /// Checks a range and returns it in resolved form.
  func between(_ expression: FetchExpression, _ lower: FetchExpression, _ upper: FetchExpression)
    throws(CoherenceError) -> FetchPredicate
  {
    let (expression, lower, upper) = (try resolved(expression), try resolved(lower), try resolved(upper))
    let kind = try kind(of: expression)
    try checkOperator(.less, [], on: kind, of: expression)
    for bound in [lower, upper] { try checkAreComparable(expression, kind, bound, try self.kind(of: bound)) }
    return .between(expression, lower.converted(to: kind), upper.converted(to: kind))
  }

  // MARK: Kinds

  /// Resolves a path from its record.
  func resolve(_ path: PropertyPath) throws(CoherenceError) -> ResolvedPath {
    try path.checkNames()
    return try ResolvedPath(path, from: try start(of: path))
  }

  /// The entity of the record at which a path begins.
  func start(of path: PropertyPath) throws(CoherenceError) -> EntityDescription {
    guard path.outerLevel >= 0, path.outerLevel <= enclosing.count else {
      throw CoherenceError(
        .invalidPredicate,
        "'\(path)' begins \(path.outerLevel) conditions on members outwards, but \(enclosing.count) are around it.")
    }
    return entity(at: path.outerLevel)
  }

  /// The entity of a record around the condition; at level 0 the entity of the record itself. The level must be one of a
  /// resolved path.
  func entity(at outerLevel: Int) -> EntityDescription {
    outerLevel == 0 ? entity : enclosing[enclosing.count - outerLevel]
  }

  /// Returns the kind of an expression's values; `nil` for the missing value, which is comparable with every kind.
  func kind(of expression: FetchExpression) throws(CoherenceError) -> OperandKind? {
    switch expression {
    case .variable(let name):
      throw .unsubstituted(name)
    case .arithmetic(let operation, let left, let right):
      return .number(try arithmetic(operation, left, right).result.storage)
    case .subquery:
      return .number(.int64)
    case .value(let value):
      return try OperandKind(value)
    case .count(let path):
      guard case .toMany = try resolve(path).target else {
        throw CoherenceError(
          .invalidPredicate,
          "'\(path)' is not a to-many relationship and has no count; count the members of a to-many relationship.")
      }
      return .number(.int64)
    case .path(let path):
      if let columns { return try columns.kind(at: path) }
      let resolved = try resolve(path)
      switch resolved.target {
      case .aggregate(let aggregate): return OperandKind(aggregate.storage)
      case .attribute(let attribute): return OperandKind(attribute.type)
      case .toOne(let relationship): return .reference(relationship.destination.root)
      case .identity: return .reference(resolved.owner.root)
      case .toMany:
        throw CoherenceError(
          .invalidPredicate,
          "'\(path)' has many members; put a condition on the members with ANY, ALL or NONE, or compare their @count.")
      }
    }
  }

  /// - Throws: ``ErrorCode/invalidPredicate`` for operands whose values cannot be compared.
  private func checkAreComparable(
    _ left: FetchExpression, _ leftKind: OperandKind?, _ right: FetchExpression, _ rightKind: OperandKind?
  ) throws(CoherenceError) {
    guard let leftKind, let rightKind else { return }
    let areConvertible =
      leftKind.isComparable(with: rightKind)
      || right.isConverted(to: leftKind) || left.isConverted(to: rightKind)
    guard areConvertible else {
      throw CoherenceError(
        .invalidPredicate, "\(label(left, leftKind)) cannot be compared with \(label(right, rightKind)).")
    }
  }

  /// The name of an expression in messages. Never contains a value.
  func label(_ expression: FetchExpression, _ kind: OperandKind) -> String {
    guard let columns, case .path(let path) = expression, let index = try? columns.slot(at: path) else {
      return expression.label(kind)
    }
    return "'\(columns.columns[index].label)' (\(kind))"
  }

  /// - Throws: ``ErrorCode/invalidPredicate`` for an operator or an option that the kind of the operand does not have.
  private func checkOperator(
    _ comparison: ComparisonOperator, _ options: StringOptions, on kind: OperandKind?, of expression: FetchExpression
  ) throws(CoherenceError) {
    guard let kind else { return }
    if comparison.isOfText || !options.isEmpty, kind != .text {
      let feature = comparison.isOfText ? comparison.keyword : "An option for case or diacritics"
      throw CoherenceError(.invalidPredicate, "\(feature) compares texts; \(label(expression, kind)) is not text.")
    }
    if comparison.isOfOrder, case .reference = kind {
      throw CoherenceError(
        .invalidPredicate, "\(label(expression, kind)) has no order; objects can only be equal or not.")
    }
  }
}

extension ResolvedPath {
  /// Whether the texts at the end of the path are the texts of URLs: of an attribute, or the least or greatest ones of
  /// members.
  var storesURLs: Bool {
    switch target {
    case .attribute(let attribute): attribute.type.storesURLs
    case .aggregate(let aggregate): aggregate.operand?.storesURLs ?? false
    case .toOne, .toMany, .identity: false
    }
  }
}

extension FetchExpression {
  /// Converts a constant to the kind. Other expressions are returned unchanged.
  func converted(to kind: OperandKind?) -> FetchExpression {
    guard case .value(let value) = self, let kind else { return self }
    return .value(kind.operand(from: value))
  }

  /// Whether the expression is a constant convertible to the kind.
  fileprivate func isConverted(to kind: OperandKind) -> Bool {
    guard case .value(let value) = self, let converted = try? OperandKind(kind.operand(from: value)) else {
      return false
    }
    return converted.isComparable(with: kind)
  }

  /// The name of the expression in messages. Never contains a value.
  fileprivate func label(_ kind: OperandKind) -> String {
    switch self {
    case .value: "a constant (\(kind))"
    case .path(let path) where path.names.isEmpty: "the object itself"
    case .path(let path): "'\(path)' (\(kind))"
    case .count(let path), .subquery(let path, _): "the count of '\(path)'"
    case .arithmetic(let operation, _, _): "the result of '\(operation.symbol)' (\(kind))"
    case .variable(let name): "the variable '$\(name)'"
    }
  }
}

extension ComparisonOperator {
  /// Whether the operator compares texts only.
  var isOfText: Bool {
    switch self {
    case .beginsWith, .endsWith, .contains, .like, .matches: true
    default: false
    }
  }

  /// Whether the operator compares by an order.
  var isOfOrder: Bool {
    switch self {
    case .less, .lessOrEqual, .greater, .greaterOrEqual: true
    default: false
    }
  }
}
