/// A part of a pattern.
indirect enum PatternNode: Sendable {
  case sequence([PatternNode])
  case alternatives([PatternNode])
  /// A repetition with a minimum and a maximum number of times; `nil` for no maximum.
  case repetition(PatternNode, Int, Int?)
  case scalar(ScalarSet)
  case textStart
  case textEnd
}

/// Reads the regular part of ICU's pattern syntax.
///
/// Throws at everything else, and at characters whose meaning depends on their position, so that a parsed pattern has
/// exactly ICU's meaning.
struct PatternParser {
  /// The pattern uses syntax beyond the regular part.
  struct NotCovered: Error {}

  private let scalars: [Unicode.Scalar]
  private var index = 0
  private var depth = 0
  private static let greatestDepth = 100

  init(_ pattern: String) { scalars = Array(pattern.unicodeScalars) }

  /// Reads the whole pattern.
  mutating func pattern() throws -> PatternNode {
    // ICU refuses an empty pattern.
    guard !scalars.isEmpty else { throw NotCovered() }
    let node = try alternatives()
    guard current == nil else { throw NotCovered() }
    return node
  }

  private var current: Unicode.Scalar? { index < scalars.count ? scalars[index] : nil }

  /// Reads any scalar.
  private mutating func take() throws -> Unicode.Scalar {
    guard let scalar = current else { throw NotCovered() }
    index += 1
    return scalar
  }

  /// Reads a scalar if it is the next one.
  private mutating func accept(_ scalar: Unicode.Scalar) -> Bool {
    guard current == scalar else { return false }
    index += 1
    return true
  }

  private mutating func alternatives() throws -> PatternNode {
    var branches = [try sequence()]
    while accept("|") { branches.append(try sequence()) }
    return branches.count == 1 ? branches[0] : .alternatives(branches)
  }

  private mutating func sequence() throws -> PatternNode {
    var nodes: [PatternNode] = []
    while let scalar = current, scalar != "|", scalar != ")" { nodes.append(try piece()) }
    return .sequence(nodes)
  }

  /// Reads an atom with its quantifier, if it has one.
  private mutating func piece() throws -> PatternNode {
    let node = try atom()
    guard isAtQuantifier else { return node }
    switch node {
    case .textStart, .textEnd: throw NotCovered()
    default: break
    }
    let (minimum, maximum) = try quantifier()
    // A lazy quantifier, with `?`, does not change whether the whole text matches. A possessive quantifier, with `+`,
    // can.
    _ = accept("?")
    if isAtQuantifier { throw NotCovered() }
    return .repetition(node, minimum, maximum)
  }

  private var isAtQuantifier: Bool { current == "*" || current == "+" || current == "?" || current == "{" }

  private mutating func quantifier() throws -> (Int, Int?) {
    switch try take() {
    case "*": return (0, nil)
    case "+": return (1, nil)
    case "?": return (0, 1)
    default: break
    }
    let minimum = try number()
    var maximum: Int? = minimum
    if accept(",") { maximum = current == "}" ? nil : try number() }
    guard accept("}"), maximum.map({ minimum <= $0 }) != false else { throw NotCovered() }
    return (minimum, maximum)
  }

  private mutating func number() throws -> Int {
    var digits = ""
    while let scalar = current, ("0"..."9").contains(scalar) {
      digits.unicodeScalars.append(scalar)
      index += 1
    }
    guard digits.utf8.count <= 4, let number = Int(digits) else { throw NotCovered() }
    return number
  }

  /// Reads a literal, a set, an escape sequence, a group or an anchor.
  private mutating func atom() throws -> PatternNode {
    let scalar = try take()
    switch scalar {
    case "(": return try group()
    case "[": return .scalar(try set())
    case "\\": return .scalar(try escape())
    case ".": return .scalar(.notLineTerminators)
    case "^": return .textStart
    case "$": return .textEnd
    case "*", "+", "?", "{", "}", ")", "|": throw NotCovered()
    default: return .scalar(ScalarSet(scalar))
    }
  }

  private mutating func group() throws -> PatternNode {
    guard depth < Self.greatestDepth else { throw NotCovered() }
    depth += 1
    defer { depth -= 1 }
    if accept("?"), !accept(":") { throw NotCovered() }
    let node = try alternatives()
    guard accept(")") else { throw NotCovered() }
    return node
  }

  /// The set that an escape sequence stands for.
  private mutating func escape() throws -> ScalarSet {
    let scalar = try take()
    switch scalar {
    case "d": return ScalarSet(.digit)
    case "D": return ScalarSet(.digit, isComplement: true)
    case "w": return ScalarSet(.word)
    case "W": return ScalarSet(.word, isComplement: true)
    case "s": return ScalarSet(.space)
    case "S": return ScalarSet(.space, isComplement: true)
    case "n": return ScalarSet("\n")
    case "r": return ScalarSet("\r")
    case "t": return ScalarSet("\t")
    case "0"..."9", "a"..."z", "A"..."Z": throw NotCovered()
    default:
      guard scalar.isASCII else { throw NotCovered() }
      return ScalarSet(scalar)
    }
  }

  // MARK: Sets

  /// The set whose opening bracket was read.
  private mutating func set() throws -> ScalarSet {
    var set = ScalarSet()
    set.isNegated = accept("^")
    // `[:` begins a named set, and an empty set is invalid.
    if current == ":" || current == "]" { throw NotCovered() }
    while !accept("]") { try addMember(to: &set) }
    return set
  }

  private mutating func addMember(to set: inout ScalarSet) throws {
    let lower: Unicode.Scalar
    if accept("\\") {
      let escaped = try escape()
      guard let only = escaped.onlyScalar else {
        if current == "-" { throw NotCovered() }
        return set.formUnion(escaped)
      }
      lower = only
    } else {
      lower = try literalInSet()
    }
    guard accept("-") else { return set.insert(lower, through: lower) }
    let upper = try literalInSet()
    guard lower <= upper else { throw NotCovered() }
    set.insert(lower, through: upper)
  }

  private mutating func literalInSet() throws -> Unicode.Scalar {
    let scalar = try take()
    guard !Self.specialInSets.contains(scalar) else { throw NotCovered() }
    return scalar
  }

  private static let specialInSets: Set<Unicode.Scalar> = ["[", "]", "&", "-", "^", "$", "{", "}", "\\"]
}
