/// Separates the code of a Swift file from its comments and strings.
///
/// The result has spaces in the place of comments, of the contents of strings and of names in backticks. Each line of the
/// file is a line of the result. The code of an interpolation stays.
struct CodeScanner {
  private enum Frame {
    case string(hashes: Int, isMultiline: Bool)
    case interpolation(openParentheses: Int)
  }

  private let source: [UInt8]
  private var code: [UInt8]
  private var index = 0
  private var frames: [Frame] = []

  /// The lines of the code of a source text.
  static func lines(of source: String) -> [String] {
    var scanner = CodeScanner(source)
    scanner.scan()
    return String(decoding: scanner.code, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
      .map(String.init)
  }

  private init(_ source: String) {
    self.source = Array(source.utf8)
    code = self.source.map { $0 == Self.newline ? $0 : UInt8(ascii: " ") }
  }

  private mutating func scan() {
    while index < source.count {
      if case .string(let hashes, let isMultiline) = frames.last {
        scanString(hashes: hashes, isMultiline: isMultiline)
      } else {
        scanCode()
      }
    }
  }

  private mutating func scanCode() {
    switch source[index] {
    case UInt8(ascii: "/") where byte(after: 1) == UInt8(ascii: "/"): skip { $0 != Self.newline }
    case UInt8(ascii: "/") where byte(after: 1) == UInt8(ascii: "*"): skipBlockComment()
    case UInt8(ascii: "`"): keepBackticks()
    case UInt8(ascii: "("), UInt8(ascii: ")"):
      countParentheses()
      keep()
    case UInt8(ascii: "#"), Self.quote:
      if let hashes = hashesBeforeQuote() { beginString(hashes: hashes) } else { keep() }
    default: keep()
    }
  }

  private mutating func beginString(hashes: Int) {
    let isMultiline = (1...2).allSatisfy { byte(after: hashes + $0) == Self.quote }
    code[index] = Self.quote
    index += hashes + (isMultiline ? 3 : 1)
    frames.append(.string(hashes: hashes, isMultiline: isMultiline))
  }

  private mutating func scanString(hashes: Int, isMultiline: Bool) {
    let quotes = isMultiline ? 3 : 1
    if source[index] == Self.quote, (0..<quotes).allSatisfy({ byte(after: $0) == Self.quote }),
      hasHashes(hashes, after: quotes)
    {
      code[index] = Self.quote
      index += quotes + hashes
      frames.removeLast()
    } else if source[index] == UInt8(ascii: "\\"), hasHashes(hashes, after: 1) {
      let isInterpolation = byte(after: hashes + 1) == UInt8(ascii: "(")
      if isInterpolation {
        code[index] = UInt8(ascii: "(")
        frames.append(.interpolation(openParentheses: 1))
      }
      index += hashes + 2
    } else {
      index += 1
    }
  }

  /// Ends an interpolation at its closing parenthesis.
  private mutating func countParentheses() {
    guard case .interpolation(var count) = frames.last else { return }
    if source[index] == UInt8(ascii: "(") { count += 1 }
    if source[index] == UInt8(ascii: ")") { count -= 1 }
    frames.removeLast()
    if count > 0 { frames.append(.interpolation(openParentheses: count)) }
  }

  /// Block comments nest.
  private mutating func skipBlockComment() {
    var depth = 0
    repeat {
      let pair = (source[index], byte(after: 1))
      let isStart = pair == (UInt8(ascii: "/"), UInt8(ascii: "*"))
      let isEnd = pair == (UInt8(ascii: "*"), UInt8(ascii: "/"))
      depth += isStart ? 1 : isEnd ? -1 : 0
      index += isStart || isEnd ? 2 : 1
    } while depth > 0 && index < source.count
  }

  /// The marks of a name in backticks stay; the name may have any character.
  private mutating func keepBackticks() {
    keep()
    skip { $0 != UInt8(ascii: "`") && $0 != Self.newline }
    if index < source.count { keep() }
  }

  /// The number of `#` before the quotation mark of a string that begins here, `nil` when none begins.
  private func hashesBeforeQuote() -> Int? {
    let hashes = source[index...].prefix { $0 == UInt8(ascii: "#") }.count
    return byte(after: hashes) == Self.quote ? hashes : nil
  }

  private func hasHashes(_ count: Int, after offset: Int) -> Bool {
    (0..<count).allSatisfy { byte(after: offset + $0) == UInt8(ascii: "#") }
  }

  private func byte(after offset: Int) -> UInt8? {
    index + offset < source.count ? source[index + offset] : nil
  }

  private mutating func skip(while condition: (UInt8) -> Bool) {
    while index < source.count, condition(source[index]) { index += 1 }
  }

  private mutating func keep() {
    code[index] = source[index]
    index += 1
  }

  private static let newline = UInt8(ascii: "\n")
  private static let quote = UInt8(ascii: "\"")
}
