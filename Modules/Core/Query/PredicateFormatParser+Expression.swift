// Arithmetic, variables and conditions on members within operands.

extension PredicateFormatParser {
  /// Parses an operand of a comparison, which may have arithmetic.
  mutating func expression() throws(CoherenceError) -> FetchExpression {
    let outer = operations
    operations = 0
    defer { operations = outer }
    return try sum()
  }

  /// Parses terms joined by `+` and `-`.
  private mutating func sum() throws(CoherenceError) -> FetchExpression {
    var result = try product()
    while true {
      if accept(.sign("+")) {
        result = try operation(.add, result, try product())
      } else if accept(.sign("-")) {
        result = try operation(.subtract, result, try product())
      } else {
        return result
      }
    }
  }

  /// Parses factors joined by `*` and `/`.
  private mutating func product() throws(CoherenceError) -> FetchExpression {
    var result = try factor()
    while true {
      if accept(.sign("*")) {
        result = try operation(.multiply, result, try factor())
      } else if accept(.sign("/")) {
        result = try operation(.divide, result, try factor())
      } else {
        return result
      }
    }
  }

  /// Parses an operand, an operand after minus signs, or an expression in parentheses.
  private mutating func factor() throws(CoherenceError) -> FetchExpression {
    var minusSigns = 0
    while accept(.sign("-")) { minusSigns += 1 }
    var result = current.kind == .sign("(") ? try parenthesizedExpression() : try operand()
    for _ in 0..<minusSigns { result = try operation(.subtract, .value(.int(0)), result) }
    return result
  }

  private mutating func parenthesizedExpression() throws(CoherenceError) -> FetchExpression {
    try nested { (parser) throws(CoherenceError) in
      try parser.expect("(")
      let result = try parser.sum()
      try parser.expect(")")
      return result
    }
  }

  /// Parses `modulus:by:(a, b)`.
  mutating func remainder() throws(CoherenceError) -> FetchExpression {
    take()
    try expect(":")
    guard accept(.name("by")) else { throw expected("'by'") }
    try expect(":")
    return try nested { (parser) throws(CoherenceError) in
      try parser.expect("(")
      let dividend = try parser.sum()
      try parser.expect(",")
      let divisor = try parser.sum()
      try parser.expect(")")
      return try parser.operation(.remainder, dividend, divisor)
    }
  }

  /// Joins two operands by an operation. The number of operations in an operand is limited, because each operation adds
  /// a level of nesting.
  private mutating func operation(
    _ operation: ArithmeticOperator, _ left: FetchExpression, _ right: FetchExpression
  ) throws(CoherenceError) -> FetchExpression {
    operations += 1
    guard operations <= Self.greatestDepth else {
      throw .unreadable(at: current.position, "an operand has more than \(Self.greatestDepth) operations")
    }
    return .arithmetic(operation, left, right)
  }

  // MARK: Variables

  /// Parses a variable: the member of a `SUBQUERY` around it, optionally with a path, or a variable for
  /// ``FetchPredicate/substituting(_:)``.
  mutating func variable() throws(CoherenceError) -> FetchExpression {
    if let name = try acceptFreeVariable() { return .variable(name) }
    try expect("$")
    let subject = Subject.member(try variableName(take()))
    return try path(from: [], of: subject)
  }

  /// Parses a variable for a value. Returns `nil` for the variable of a `SUBQUERY` around it, and does not consume its
  /// token.
  mutating func acceptFreeVariable() throws(CoherenceError) -> String? {
    let name = try variableName(following)
    guard !subjects.contains(.member(name)) else { return nil }
    take()
    take()
    return name
  }

  /// The number of conditions on members between the current condition and the nearest one about a subject.
  func outerLevel(of subject: Subject) -> Int {
    subjects.reversed().firstIndex(of: subject).map { subjects.endIndex - $0.base } ?? 0
  }

  private func variableName(_ token: PredicateFormatToken) throws(CoherenceError) -> String {
    switch token.kind {
    case .name(let name): return name
    case .keyword: return token.spelling
    default: throw .unreadable(at: token.position, "the name of a variable is expected after '$', not \(token.label)")
    }
  }

  // MARK: Members

  /// Parses `SUBQUERY(path, $variable, condition).@count`.
  mutating func subquery() throws(CoherenceError) -> FetchExpression {
    try nested { (parser) throws(CoherenceError) in
      parser.take()
      try parser.expect("(")
      let start = parser.current
      guard case .path(let path) = try parser.operand() else {
        throw .unreadable(at: start.position, "the path of a to-many relationship is expected")
      }
      try parser.expect(",")
      try parser.expect("$")
      let name = try parser.variableName(parser.take())
      try parser.expect(",")
      let condition = try parser.condition(about: .member(name))
      try parser.expect(")")
      guard parser.accept(.sign(".")), parser.accept(.function("count")) else {
        throw .unreadable(
          at: parser.current.position,
          "'.@count' is expected after SUBQUERY; only the number of its members is compared")
      }
      return .subquery(path, condition)
    }
  }
}
