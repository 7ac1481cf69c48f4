/// Parses the tokens of format text to a predicate.
struct PredicateFormatParser {
  private let tokens: [PredicateFormatToken]
  private var index = 0
  var arguments: PredicateFormatArguments
  /// The number of enclosing parts that ``nested(_:)`` is parsing.
  private var depth = 0
  /// The subjects of the enclosing conditions, from the outermost to the innermost.
  var subjects: [Subject] = [.record]
  /// The number of operations in the current operand.
  var operations = 0

  /// The record to which the names of a condition belong.
  enum Subject: Equatable {
    /// Names begin at the record.
    case record
    /// Names begin with the variable of a `SUBQUERY`, which stands for a member.
    case member(String)
  }
  /// The greatest depth of nested parts, and of operations in an operand, so that no text exhausts the stack.
  static let greatestDepth = 100

  init(tokens: [PredicateFormatToken], arguments: [(any Sendable)?]) {
    self.tokens = tokens
    self.arguments = PredicateFormatArguments(arguments)
  }

  /// Parses the whole text.
  mutating func predicate() throws(CoherenceError) -> FetchPredicate {
    let predicate = try disjunction()
    guard current.kind == .end else { throw expected("AND, OR or the end") }
    try arguments.checkAllUsed()
    return predicate
  }

  // MARK: Tokens

  var current: PredicateFormatToken { tokens[index] }

  /// The token after the current one.
  var following: PredicateFormatToken { tokens[min(index + 1, tokens.count - 1)] }

  /// Returns the current token and advances.
  @discardableResult mutating func take() -> PredicateFormatToken {
    defer { if index < tokens.count - 1 { index += 1 } }
    return tokens[index]
  }

  /// Advances if the current token is of one of the kinds.
  ///
  /// - Returns: Whether the token was of one of the kinds.
  mutating func accept(_ kinds: PredicateFormatToken.Kind...) -> Bool {
    guard kinds.contains(current.kind) else { return false }
    take()
    return true
  }

  /// Advances past a sign.
  ///
  /// - Throws: ``ErrorCode/invalidPredicate`` if the current token is not the sign.
  mutating func expect(_ sign: String) throws(CoherenceError) {
    guard accept(.sign(sign)) else { throw expected("'\(sign)'") }
  }

  /// The error for the current token where the text needs another one.
  func expected(_ what: String) -> CoherenceError {
    .unreadable(at: current.position, "\(what) is expected, not \(current.label)")
  }

  // MARK: Logic

  private mutating func disjunction() throws(CoherenceError) -> FetchPredicate {
    var parts = [try conjunction()]
    while accept(.keyword(.or), .sign("||")) { parts.append(try conjunction()) }
    return parts.count == 1 ? parts[0] : .or(parts)
  }

  private mutating func conjunction() throws(CoherenceError) -> FetchPredicate {
    var parts = [try negation()]
    while accept(.keyword(.and), .sign("&&")) { parts.append(try negation()) }
    return parts.count == 1 ? parts[0] : .and(parts)
  }

  private mutating func negation() throws(CoherenceError) -> FetchPredicate {
    var count = 0
    while accept(.keyword(.not), .sign("!")) { count += 1 }
    guard count <= Self.greatestDepth else { throw nestedTooDeep }
    var predicate = try primary()
    for _ in 0..<count { predicate = .not(predicate) }
    return predicate
  }

  /// Parses a condition without `AND`, `OR` and `NOT` outside of parentheses.
  private mutating func primary() throws(CoherenceError) -> FetchPredicate {
    switch current.kind {
    case .sign("(") where !beginsOperand:
      return try parenthesized()
    case .keyword(.truePredicate):
      take()
      return .constant(true)
    case .keyword(.falsePredicate):
      take()
      return .constant(false)
    case .keyword(let keyword):
      if let quantifier = keyword.quantifier { return try quantified(quantifier) }
    default:
      break
    }
    return try comparison()
  }

  /// Parses a comparison with its left side.
  private mutating func comparison() throws(CoherenceError) -> FetchPredicate {
    let start = current
    let left = try expression()
    let condition = try comparison(of: left)
    // Descriptions of predicates write constants in upper case. A lower-case keyword such as `no` in `no == 1` probably
    // means a property.
    if case .keyword = start.kind, case .value = left, start.spelling != start.spelling.uppercased(),
      condition.comparesWithConstants
    {
      throw .unreadable(
        at: start.position,
        "\(start.label) is a constant, and so is the other operand; write #\(start.spelling) for a property of that name"
      )
    }
    return condition
  }

  private mutating func parenthesized() throws(CoherenceError) -> FetchPredicate {
    try nested { (parser) throws(CoherenceError) in
      try parser.expect("(")
      let predicate = try parser.disjunction()
      try parser.expect(")")
      return predicate
    }
  }

  /// Parses a part with possible parts of the same kind inside, and limits the depth of nesting.
  mutating func nested<T>(
    _ parse: (inout PredicateFormatParser) throws(CoherenceError) -> T
  ) throws(CoherenceError) -> T {
    guard depth < Self.greatestDepth else { throw nestedTooDeep }
    depth += 1
    defer { depth -= 1 }
    return try parse(&self)
  }

  /// Parses a condition whose names belong to another subject.
  mutating func condition(about subject: Subject) throws(CoherenceError) -> FetchPredicate {
    subjects.append(subject)
    defer { subjects.removeLast() }
    return try subject == .record ? parenthesized() : disjunction()
  }

  /// Whether the parenthesis at the current token encloses an operand instead of a condition: an operator of an operand
  /// follows the closing parenthesis.
  private var beginsOperand: Bool {
    var (depth, index) = (0, index)
    while index < tokens.count {
      switch tokens[index].kind {
      case .sign("("): depth += 1
      case .sign(")"): depth -= 1
      default: break
      }
      index += 1
      guard depth > 0 else { break }
    }
    guard index < tokens.count else { return false }
    switch tokens[index].kind {
    case .sign(let sign): return Self.signsAfterOperands.contains(sign)
    // `NOT IN` follows only an operand, and NOT never follows a condition.
    case .keyword(.in), .keyword(.between), .keyword(.not): return true
    case .keyword(let keyword): return keyword.comparison != nil
    default: return false
    }
  }

  private static let signsAfterOperands: Set = [
    "==", "=", "!=", "<>", "<", "<=", "=<", ">", ">=", "=>", "+", "-", "*", "/",
  ]

  var nestedTooDeep: CoherenceError {
    .unreadable(at: current.position, "the text is nested more than \(Self.greatestDepth) deep")
  }

  // MARK: Members

  /// Parses a condition on members, after `ANY`, `ALL` or `NONE`.
  private mutating func quantified(_ quantifier: FetchPredicate.Quantifier) throws(CoherenceError) -> FetchPredicate {
    take()
    let start = current
    let left = try operand()
    if case .path(let path) = left, current.kind == .sign("(") {
      return .quantified(quantifier, path, try condition(about: .record))
    }
    let (path, member) = try Self.memberPath(left, start)
    // The right side belongs to the record, as the path does.
    return .quantified(quantifier, path, try comparison(of: member, isOfMember: true))
  }

  /// Splits a path into the path to the members and the path of a member. The text alone does not determine the split:
  /// the last of several names is assigned to the member, and ``QuantifiedPath`` corrects the split when the entity is
  /// known.
  private static func memberPath(_ expression: FetchExpression, _ token: PredicateFormatToken) throws(CoherenceError)
    -> (PropertyPath, FetchExpression)
  {
    switch expression {
    case .path(let path) where path.membersBeforeAggregate != nil:
      let count = path.membersBeforeAggregate ?? 0
      return (path.replacingNames(path.names[..<count]), .path(PropertyPath(names: Array(path.names[count...]))))
    case .path(let path) where path.names.count == 1:
      return (path, .path(.own))
    case .path(let path) where !path.names.isEmpty:
      return (path.replacingNames(path.names.dropLast()), .path(PropertyPath(names: path.names.suffix(1))))
    case .count(let path) where path.names.count > 1:
      return (path.replacingNames(path.names.dropLast()), .count(PropertyPath(names: path.names.suffix(1))))
    default:
      throw .unreadable(at: token.position, "the path of a to-many relationship is expected after ANY, ALL or NONE")
    }
  }
}

extension FetchPredicate {
  /// Whether the right side of the comparison consists of constants.
  fileprivate var comparesWithConstants: Bool {
    switch self {
    case .comparison(_, _, let right, _): right.isConstant
    case .between(_, let lower, let upper): lower.isConstant && upper.isConstant
    case .membership, .list: true
    // A membership in a list with variables.
    case .or(let parts): parts.allSatisfy(\.comparesWithConstants)
    case .not(let predicate): predicate.comparesWithConstants
    default: false
    }
  }
}

extension PropertyPath {
  /// The number of names before the relationship of an aggregate function in the path; `nil` without a function, and
  /// without a name before the relationship.
  fileprivate var membersBeforeAggregate: Int? {
    guard let index = names.firstIndex(where: { AggregateFunction(pathOperator: $0) != nil }), index > 1 else {
      return nil
    }
    return index - 1
  }
}
