import Foundation

// Comparisons: operators, operands and lists.

extension PredicateFormatParser {
  /// Parses the rest of a comparison, after its left side.
  ///
  /// - Parameter isOfMember: Whether the comparison is a condition on members, so that its right side is about the record
  ///   around the member.
  mutating func comparison(
    of left: FetchExpression, isOfMember: Bool = false
  ) throws(CoherenceError) -> FetchPredicate {
    if accept(.keyword(.not)) {
      guard current.kind == .keyword(.in) else { throw expected("IN") }
      return .not(try comparison(of: left, isOfMember: isOfMember))
    }
    if accept(.keyword(.in)) { return try membership(of: left, isOfMember: isOfMember) }
    if accept(.keyword(.between)) { return try range(of: left, isOfMember: isOfMember) }
    let comparison = try comparisonOperator()
    let options = acceptOptions()
    let right = try expression()
    return .comparison(left, comparison, isOfMember ? right.outer : right, options)
  }

  private mutating func comparisonOperator() throws(CoherenceError) -> ComparisonOperator {
    let comparison: ComparisonOperator? =
      switch current.kind {
      case .sign("=="), .sign("="): .equal
      case .sign("!="), .sign("<>"): .notEqual
      case .sign("<"): .less
      case .sign("<="), .sign("=<"): .lessOrEqual
      case .sign(">"): .greater
      case .sign(">="), .sign("=>"): .greaterOrEqual
      case .keyword(let keyword): keyword.comparison
      default: nil
      }
    guard let comparison else { throw expected("an operator") }
    take()
    return comparison
  }

  private mutating func acceptOptions() -> StringOptions {
    guard case .options(let options) = current.kind else { return [] }
    take()
    return options
  }

  // MARK: Lists

  /// Parses the list, or the path of members, after `IN`.
  private mutating func membership(
    of left: FetchExpression, isOfMember: Bool
  ) throws(CoherenceError) -> FetchPredicate {
    let options = acceptOptions()
    switch current.kind {
    case .value:
      return .membership(left, in: try arguments.list(at: take().position), options)
    case .sign("{"), .sign("("):
      let start = current.position
      let elements = try list()
      let values = elements.compactMap { if case .value(let value) = $0 { value } else { AttributeValue?.none } }
      if values.count == elements.count { return .membership(left, in: values, options) }
      guard elements.allSatisfy(\.isConstant) else {
        throw .unreadable(at: start, "a list after IN takes constants only")
      }
      return .or(elements.map { .comparison(left, .equal, $0, options) })
    case .sign("$"):
      if let name = try acceptFreeVariable() { return .list(left, .membership, variable: name, options) }
      return try self.member(left, options, isOfMember: isOfMember)
    default:
      return try self.member(left, options, isOfMember: isOfMember)
    }
  }

  /// Parses `value IN path`: the value is a member, or the value of an attribute of a member.
  private mutating func member(
    _ left: FetchExpression, _ options: StringOptions, isOfMember: Bool
  ) throws(CoherenceError) -> FetchPredicate {
    let start = current
    guard case .path(let path) = try operand() else {
      throw .unreadable(at: start.position, "a list, or the path of a to-many relationship, is expected after IN")
    }
    return .quantified(
      .any, isOfMember ? path.outer() : path, .comparison(.path(.own), .equal, left.outer, options))
  }

  /// Parses the bounds after `BETWEEN`.
  private mutating func range(of left: FetchExpression, isOfMember: Bool) throws(CoherenceError) -> FetchPredicate {
    let start = current
    if start.kind == .sign("$"), let name = try acceptFreeVariable() { return .list(left, .between, variable: name) }
    let bounds: [FetchExpression] =
      start.kind == .value ? try arguments.list(at: take().position).map { .value($0) } : try list()
    guard bounds.count == 2 else {
      throw .unreadable(at: start.position, "two bounds are expected after BETWEEN, not \(bounds.count)")
    }
    return isOfMember ? .between(left, bounds[0].outer, bounds[1].outer) : .between(left, bounds[0], bounds[1])
  }

  /// Parses a list of expressions in braces or parentheses.
  private mutating func list() throws(CoherenceError) -> [FetchExpression] {
    let closing = PredicateFormatToken.Kind.sign(current.kind == .sign("(") ? ")" : "}")
    guard accept(.sign("{"), .sign("(")) else { throw expected("a list in braces") }
    var expressions: [FetchExpression] = []
    if accept(closing) { return expressions }
    repeat { expressions.append(try expression()) } while accept(.sign(","))
    guard accept(closing) else { throw expected("',' or the end of the list") }
    return expressions
  }

  // MARK: Operands

  /// Parses an operand without arithmetic.
  mutating func operand() throws(CoherenceError) -> FetchExpression {
    switch current.kind {
    case .number(let value):
      take()
      return .value(value)
    case .text(let text):
      take()
      return .value(.string(text))
    case .value:
      return .value(try arguments.value(at: take().position))
    case .path:
      return try path(from: try arguments.path(at: take().position).names)
    case .name(let name):
      if name == "modulus", following.kind == .sign(":") { return try remainder() }
      take()
      return try path(from: [name])
    case .keyword(.own):
      take()
      return try path(from: [])
    case .keyword(.subquery):
      return try subquery()
    case .function(let word):
      // An aggregate of a group, in a having predicate.
      return try path(from: [try Self.aggregateFunction(word, take()).pathOperator])
    case .keyword(let keyword):
      return .value(try constant(keyword))
    case .sign("$"):
      return try variable()
    default:
      throw expected("a name or a value")
    }
  }

  /// Parses the rest of a path, after its first names.
  ///
  /// - Parameter subject: The record at which the path begins. A name without a variable begins at the record of
  ///   the nearest condition that is not the condition of a `SUBQUERY`.
  mutating func path(
    from first: [String], of subject: Subject = .record
  ) throws(CoherenceError) -> FetchExpression {
    let level = outerLevel(of: subject)
    var names = first
    while accept(.sign(".")) {
      let token = take()
      switch token.kind {
      case .name(let name):
        names.append(name)
      case .keyword:
        names.append(token.spelling)
      case .path:
        names += try arguments.path(at: token.position).names
      case .function(let word):
        let function = try Self.aggregateFunction(word, token)
        if function == .count, current.kind != .sign(".") {
          return .count(PropertyPath(names: names, outerLevel: level))
        }
        names.append(function.pathOperator)
      default:
        throw .unreadable(at: token.position, "a name is expected after '.', not \(token.label)")
      }
    }
    return .path(PropertyPath(names: names, outerLevel: level))
  }

  /// The function with a name, without its `@`.
  private static func aggregateFunction(
    _ word: String, _ token: PredicateFormatToken
  ) throws(CoherenceError) -> AggregateFunction {
    if let function = AggregateFunction(pathOperator: "@" + word) { return function }
    let functions = AggregateFunction.allCases.map(\.pathOperator).joined(separator: ", ")
    throw .unreadable(
      at: token.position, "\(token.label) is not supported in a predicate; the functions are \(functions)")
  }

  /// Parses a constant that is a keyword, or `CAST`.
  private mutating func constant(_ keyword: PredicateFormatKeyword) throws(CoherenceError) -> AttributeValue {
    switch keyword {
    case .null, .nil:
      take()
      return .null
    case .true, .yes:
      take()
      return .bool(true)
    case .false, .no:
      take()
      return .bool(false)
    case .cast:
      return try cast()
    case .object:
      throw .unreadable(at: current.position, "an object cannot be written in text; pass its identifier as an argument")
    case .function:
      throw .unreadable(at: current.position, "\(keyword.rawValue) is not supported")
    default:
      throw expected("a name or a value")
    }
  }

  /// Parses `CAST(value, "type")`, for values without a literal form.
  private mutating func cast() throws(CoherenceError) -> AttributeValue {
    try nested { (parser) throws(CoherenceError) in
      parser.take()
      try parser.expect("(")
      let start = parser.current
      guard case .value(let value) = try parser.operand() else {
        throw .unreadable(
          at: start.position,
          "CAST makes a value of a constant; stores convert the values of properties in different ways, so a property "
            + "keeps its type")
      }
      try parser.expect(",")
      guard case .text(let type) = parser.current.kind else {
        throw parser.expected("the name of a type, as a text,")
      }
      parser.take()
      try parser.expect(")")
      guard let result = value.cast(to: type) else {
        throw .unreadable(at: start.position, "the value cannot be read as '\(type)'")
      }
      return result
    }
  }
}

extension AttributeValue {
  /// The constant as a value of a type with a name; `nil` for an unreadable constant and an unknown name.
  fileprivate func cast(to type: String) -> AttributeValue? {
    switch (type, self) {
    case ("UUID", .string(let text)): UUID(uuidString: text).map(AttributeValue.uuid)
    case ("Data", .string(let text)): Data(base64Encoded: text).map(AttributeValue.data)
    case ("Decimal", .string(let text)): text.isDecimal ? Decimal(string: text).map(AttributeValue.decimal) : nil
    case ("Double", .string(let text)): Double(text).map(AttributeValue.double)
    case ("Date", .int(let number)): .date(Timestamp(microseconds: number))
    default: nil
    }
  }
}

extension String {
  /// Whether the whole text is a decimal number. Foundation would read the beginning of `1,50` and ignore the rest.
  fileprivate var isDecimal: Bool {
    utf8.allSatisfy { "0123456789+-.eE".utf8.contains($0) } && Double(self) != nil
  }
}
