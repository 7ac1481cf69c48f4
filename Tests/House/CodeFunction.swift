/// A function of a file: a function, an initializer, a subscript, a computed property, or a case of the conformance suite.
struct CodeFunction {
  let name: String
  /// The line with the name.
  let line: Int
  /// The number of lines from the name to the closing brace.
  let length: Int

  /// Returns the functions that the tokens of a file declare, including nested functions.
  static func functions(in tokens: [CodeToken]) -> [CodeFunction] {
    tokens.indices.compactMap { index in
      guard let body = body(ofDeclarationAt: index, in: tokens) else { return nil }
      let end = tokens[tokens.closing(body)].line
      let isNamed = ["func", "var"].contains(tokens[index].text) && tokens.indices.contains(index + 1)
      return CodeFunction(
        name: String(tokens[isNamed ? index + 1 : index].text), line: tokens[index].line,
        length: end - tokens[index].line + 1)
    }
  }

  /// The index of the opening brace of the function that a token declares, `nil` when it declares none with a body.
  private static func body(ofDeclarationAt index: Int, in tokens: [CodeToken]) -> Int? {
    guard index == 0 || tokens[index - 1].text != "." else { return nil }
    switch tokens[index].text {
    case "func", "deinit": return listless(index, openingBrace(after: index, in: tokens), in: tokens)
    case "init", "subscript":
      let isDeclared = tokens[index].isFirst || modifiers.contains(tokens[index - 1].text)
      return isDeclared ? openingBrace(after: index, in: tokens) : nil
    case "var":
      let brace = openingBrace(after: index, in: tokens)
      guard let brace, tokens[brace].line == tokens[index].line else { return nil }
      return tokens[index..<brace].contains { $0.text == "=" } ? nil : listless(index, brace, in: tokens)
    case "Case":
      guard index + 1 < tokens.count, tokens[index + 1].text == "(" else { return nil }
      let next = tokens.closing(index + 1) + 1
      return next < tokens.count && tokens[next].text == "{" ? next : nil
    default: return nil
    }
  }

  /// `nil` for the body of a list of cases, whose cases are functions of their own.
  private static func listless(_ index: Int, _ brace: Int?, in tokens: [CodeToken]) -> Int? {
    guard let brace else { return nil }
    return tokens[..<brace].suffix(3).map(\.text) == ["[", "Case", "]"] ? nil : brace
  }

  /// The first brace outside of parentheses, unless another declaration begins before it.
  private static func openingBrace(after index: Int, in tokens: [CodeToken]) -> Int? {
    var next = index + 1
    while next < tokens.count {
      switch tokens[next].text {
      case "{": return next
      case "(", "[": next = tokens.closing(next)
      case "}", ")", "]": return nil
      default: if tokens[next].isFirst, beginnings.contains(tokens[next].text) { return nil }
      }
      next += 1
    }
    return nil
  }

  private static let modifiers: Set<Substring> = [
    "public", "package", "internal", "private", "fileprivate", "open", "override", "required", "convenience",
    "nonisolated", "static", "class", "final", "mutating", ")",
  ]
  /// Words and marks that begin the declaration after one without a body.
  private static let beginnings: Set<Substring> = modifiers.union([
    "@", "#", "func", "init", "deinit", "subscript", "var", "let", "struct", "enum", "extension", "protocol", "actor",
    "associatedtype", "typealias", "case", "nonmutating", "weak", "unowned", "lazy", "indirect", "import", "return",
  ]).subtracting([")"])
}
