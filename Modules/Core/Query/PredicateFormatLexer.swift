/// A word, number, text or sign of format text.
struct PredicateFormatToken {
  enum Kind: Equatable {
    case keyword(PredicateFormatKeyword)
    case name(String)
    case number(AttributeValue)
    case text(String)
    /// An operator or a bracket.
    case sign(String)
    /// A function such as `@count`.
    case function(String)
    /// The options of a comparison.
    case options(StringOptions)
    /// A placeholder for a value, such as `%@`.
    case value
    /// The placeholder for a path, `%K`.
    case path
    case end

    /// Whether an operand may end with the token.
    var endsOperand: Bool {
      switch self {
      case .name, .number, .text, .value, .path, .function, .sign(")"), .keyword(.own): true
      case .keyword, .sign, .options, .end: false
      }
    }
  }
  let kind: Kind
  /// The word in the spelling of the text.
  let spelling: String
  /// The position of the first character in the text, counted from 1.
  let position: Int

  /// The name of the token in messages. Never contains a value.
  var label: String {
    switch kind {
    case .keyword, .name, .sign, .function, .options, .value, .path: "'\(spelling)'"
    case .number: "a number"
    case .text: "a text"
    case .end: "the end"
    }
  }
}

/// Splits format text into tokens.
///
/// The lexer reads Unicode scalars, not characters, so that a combining mark after a quote belongs to the quoted text.
struct PredicateFormatLexer {
  private let scalars: [Unicode.Scalar]
  private var index = 0

  init(_ text: String) { scalars = Array(text.unicodeScalars) }

  /// Splits the whole text.
  ///
  /// - Throws: ``ErrorCode/invalidPredicate`` at the first character outside of all tokens.
  mutating func tokens() throws(CoherenceError) -> [PredicateFormatToken] {
    var tokens: [PredicateFormatToken] = []
    while true {
      while let scalar = current, scalar.properties.isWhitespace { index += 1 }
      let start = index
      let kind = try next(after: tokens.last?.kind)
      let spelling = String(String.UnicodeScalarView(scalars[start..<index]))
      tokens.append(PredicateFormatToken(kind: kind, spelling: spelling, position: start + 1))
      if kind == .end { return tokens }
    }
  }

  private var current: Unicode.Scalar? { index < scalars.count ? scalars[index] : nil }
  private func scalar(after distance: Int) -> Unicode.Scalar? {
    index + distance < scalars.count ? scalars[index + distance] : nil
  }

  /// Reads the next token.
  ///
  /// - Parameter previous: The previous token. A minus after an operand is an operator, not the sign of a number.
  private mutating func next(after previous: PredicateFormatToken.Kind?) throws(CoherenceError)
    -> PredicateFormatToken.Kind
  {
    guard let scalar = current else { return .end }
    switch scalar {
    case "\"", "'": return .text(try quoted())
    case "`": return .name(try quoted())
    case "%": return try placeholder()
    case "[": return .options(try options())
    case "#", "@": return try marked()
    case "-" where self.scalar(after: 1)?.isDigit == true && previous?.endsOperand != true: return .number(try number())
    case _ where scalar.isDigit: return .number(try number())
    case _ where scalar.beginsName: return word()
    default: return .sign(try sign())
    }
  }

  /// Returns the next scalars that satisfy a condition, and advances.
  private mutating func take(while condition: (Unicode.Scalar) -> Bool) -> String {
    let start = index
    while let scalar = current, condition(scalar) { index += 1 }
    return String(String.UnicodeScalarView(scalars[start..<index]))
  }

  /// Reads a keyword or a name.
  private mutating func word() -> PredicateFormatToken.Kind {
    let word = take { $0.continuesName }
    return PredicateFormatKeyword(word: word).map { .keyword($0) } ?? .name(word)
  }

  /// `#name` or `@function`.
  private mutating func marked() throws(CoherenceError) -> PredicateFormatToken.Kind {
    let start = index
    let isName = current == "#"
    index += 1
    let word = take { $0.continuesName }
    guard !word.isEmpty else { throw .unreadable(at: start + 1, "a name is expected after '\(scalars[start])'") }
    return isName ? .name(word) : .function(word)
  }

  /// Reads an operator or a bracket.
  private mutating func sign() throws(CoherenceError) -> String {
    for length in [2, 1] where index + length <= scalars.count {
      let text = String(String.UnicodeScalarView(scalars[index..<index + length]))
      guard Self.signs.contains(text) else { continue }
      index += length
      return text
    }
    throw .unreadable(at: index + 1, "'\(scalars[index])' is not expected here")
  }

  private static let signs: Set<String> = [
    "==", "=", "!=", "<>", "<", "<=", "=<", ">", ">=", "=>", "&&", "||", "!", "(", ")", "{", "}", ",", ".",
    "$", "+", "-", "*", "/", ":",
  ]

  /// Reads `%@`, `%K`, or a specifier such as `%ld`.
  private mutating func placeholder() throws(CoherenceError) -> PredicateFormatToken.Kind {
    let start = index
    index += 1
    if current == "@" || current == "K" {
      defer { index += 1 }
      return current == "K" ? .path : .value
    }
    let specifier = take { $0.isASCII && $0.continuesName }
    let isKnown = Set("dDiuUxXfFgGeEcCsS".map(String.init)).contains(
      specifier.drop { "lhqLz".contains($0) }.description)
    guard isKnown else { throw .unreadable(at: start + 1, "a specifier such as %@, %K or %ld is expected after '%'") }
    return .value
  }

  /// Reads the options of a comparison, such as `[cd]`.
  private mutating func options() throws(CoherenceError) -> StringOptions {
    let start = index
    index += 1
    let letters = take { $0 != "]" && $0.continuesName }.lowercased()
    guard current == "]", letters.allSatisfy({ $0 == "c" || $0 == "d" }) else {
      throw .unreadable(at: start + 1, "the options of a comparison are [c], [d] and [cd]")
    }
    index += 1
    var options: StringOptions = []
    if letters.contains("c") { options.insert(.caseInsensitive) }
    if letters.contains("d") { options.insert(.diacriticInsensitive) }
    return options
  }

  /// Reads an integer, or a double with a point or an exponent.
  private mutating func number() throws(CoherenceError) -> AttributeValue {
    let start = index
    var isWhole = true
    if current == "-" { index += 1 }
    _ = take { $0.isDigit }
    if current == ".", scalar(after: 1)?.isDigit == true {
      isWhole = false
      index += 1
      _ = take { $0.isDigit }
    }
    if current == "e" || current == "E" {
      let hasSign = scalar(after: 1) == "+" || scalar(after: 1) == "-"
      if scalar(after: hasSign ? 2 : 1)?.isDigit == true {
        isWhole = false
        index += hasSign ? 2 : 1
        _ = take { $0.isDigit }
      }
    }
    let text = String(String.UnicodeScalarView(scalars[start..<index]))
    if isWhole {
      if let number = Int64(text) { return .int(number) }
      throw .unreadable(at: start + 1, "the number is out of range; pass it as an argument")
    }
    guard let number = Double(text) else { throw .unreadable(at: start + 1, "the number cannot be read") }
    return .double(number)
  }
}

// MARK: - Quoted text

extension PredicateFormatLexer {
  /// Reads a text up to its closing quote.
  private mutating func quoted() throws(CoherenceError) -> String {
    let start = index
    let quote = scalars[index]
    index += 1
    var text = String.UnicodeScalarView()
    while let scalar = current {
      index += 1
      if scalar == quote { return String(text) }
      text.append(scalar == "\\" ? try escaped() : scalar)
    }
    throw .unreadable(at: start + 1, "the text that begins here has no end")
  }

  /// Reads the scalar after a backslash.
  private mutating func escaped() throws(CoherenceError) -> Unicode.Scalar {
    let start = index
    defer { index += 1 }
    switch current {
    case "\\"?, "\""?, "'"?, "`"?: return scalars[index]
    case "n"?: return "\n"
    case "r"?: return "\r"
    case "t"?: return "\t"
    case "u"?:
      let digits = scalars[(index + 1)...].prefix(4)
      // The initializer of an integer would read a sign too.
      if digits.count == 4, digits.allSatisfy(\.isHexadecimalDigit),
        let value = UInt32(digits.map { String($0) }.joined(), radix: 16), let scalar = Unicode.Scalar(value)
      {
        index += 4
        return scalar
      }
    default: break
    }
    throw .unreadable(at: start, "a backslash stands before \\, \", ', `, n, r, t or uXXXX; write \\\\ for itself")
  }
}

extension Unicode.Scalar {
  fileprivate var isDigit: Bool { ("0"..."9").contains(self) }
  fileprivate var isHexadecimalDigit: Bool { isDigit || ("a"..."f").contains(self) || ("A"..."F").contains(self) }
  /// Whether a name in format text may begin with the scalar.
  var beginsName: Bool { self == "_" || properties.isAlphabetic }
  /// Whether a name in format text may continue with the scalar.
  var continuesName: Bool { beginsName || ("0"..."9").contains(self) }
}
