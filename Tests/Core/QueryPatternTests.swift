import CoherenceCore
import Foundation
import TestRandom
import Testing

@Suite struct QueryPatternTests {
  let library: QueryLibrary

  init() throws { library = try QueryLibrary() }

  private func matches(_ text: String, _ pattern: String, _ options: StringOptions = []) throws -> Bool {
    let artist = try library.make("Artist", ["name": text])
    return try library.holds(
      .comparison(.path(PropertyPath("name")), .matches, .value(.string(pattern)), options), for: artist)
  }

  @Test(arguments: [20, 30, 1_000, 100_000])
  func `a pattern with exponential backtracking is matched correctly`(length: Int) throws {
    let text = String(repeating: "a", count: length - 1)
    #expect(try matches(text + "!", "(a+)+$|a+!"))
    #expect(try matches(text, "(a+)+$|a+!"))
    #expect(try !matches(text + "?", "(a+)+$|a+!"))
    #expect(try !matches(text + "b", "(a|aa)+"))
    #expect(try !matches(text, "a*a*a*a*a*a*a*b"))
    #expect(try matches(text.uppercased(), "(a+)+", .caseInsensitive))
  }

  @Test func `a long text does not exhaust the memory of a backtracking search`() throws {
    let text = String(repeating: "ab", count: 500_000)
    #expect(try matches(text, "(a|b)*"))
    #expect(try !matches(text + "c", "(a|b)*"))
  }

  @Test(arguments: ["(?=.)(a+)+$", "(a+)+\\b!", "(?i)(a+)+$", "(a+)+\\1b"])
  func `a pattern that needs backtracking has a limit, and exceeding the limit throws`(
    pattern: String
  ) throws {
    #expect(try matches("aaa", "(?=.)(a+)+$"))
    let text = String(repeating: "a", count: 40) + "?"
    let error = #expect(throws: CoherenceError.self) { try matches(text, pattern) }
    #expect(error?.code == .limitExceeded)
    #expect(error?.isRetryable == false)
    #expect(error?.message.contains("look-around") == true)
  }

  @Test func `a text too long for a backtracking search throws an error and is not a mismatch`() throws {
    let text = String(repeating: "ab", count: 500_000)
    let error = #expect(throws: CoherenceError.self) { try matches(text, "(?=a)(a|b)*") }
    #expect(error?.code == .limitExceeded)
  }

  @Test func `a cancelled task stops a match between two texts, and within one text`() async throws {
    for pattern in ["a*", "(?=.)(a+)+$"] {
      let task = Task {
        withUnsafeCurrentTask { $0?.cancel() }
        let library = try QueryLibrary()
        let artist = try library.make("Artist", ["name": String(repeating: "a", count: 40) + "?"])
        return try library.holds(
          .comparison(.path(PropertyPath("name")), .matches, .value(.string(pattern))), for: artist)
      }
      let error = await #expect(throws: CoherenceError.self) { try await task.value }
      #expect(error?.code == .cancelled)
    }
  }

  @Test(arguments: [
    ("a\n", "a$\n", true), ("a\n", "a$", false), ("a\r\n", "a$\r\n", true), ("a\r\n", "a\r$\n", false),
    ("a\u{2028}", "a.", false), ("a\u{0B}", "a.", false), ("a\u{85}", "a\\s", true), ("\u{E9}", "[^a]", true),
    ("\u{E9}", "\\w", true), ("\u{661}", "\\d", true), ("\u{1F600}", ".", true), ("\u{1F600}", "..", false),
    ("e\u{301}", "..", true), ("", "a*", true), ("", "(a|b*)*", true), ("ab", "(|a)+b", true), ("^", "\\^", true),
    ("a-c", "[a\\-c]*", true), ("b", "[a-c]", true), ("]", "[\\]]", true), ("aaa", "a{2}", false),
    ("aaa", "a{2,}", true), ("aaaa", "a{1,3}", false), ("abc", "^abc$", true), ("xabc", "^abc$", false),
    ("\u{DF}", "ss", false),
  ])
  func `a pattern matches the same texts as in ICU`(text: String, pattern: String, isMatch: Bool) throws {
    #expect(try matches(text, pattern) == isMatch)
    let expression = try NSRegularExpression(pattern: "\\A(?:\(pattern))\\z")
    let range = NSRange(location: 0, length: text.utf16.count)
    #expect((expression.firstMatch(in: text, range: range) != nil) == isMatch)
  }

  @Test func `case folding to several characters equals that of ICU`() throws {
    #expect(try matches("\u{DF}", "ss", .caseInsensitive))
    #expect(try matches("STRASSE", "stra\u{DF}e", .caseInsensitive))
    #expect(try matches("\u{17F}", "S", .caseInsensitive))
    #expect(try !matches("A", "[^a]", .caseInsensitive))
  }

  @Test(arguments: SeededRandom.seeds)
  func `random patterns match the same texts as in ICU`(seed: UInt64) throws {
    var random = PatternGenerator(seed: seed)
    var compared = 0
    for _ in 0..<1_000 {
      let pattern = random.pattern(depth: 3)
      guard !pattern.isEmpty, (try? NSRegularExpression(pattern: pattern)) != nil,
        let expression = try? NSRegularExpression(pattern: "\\A(?:\(pattern))\\z")
      else { continue }
      for _ in 0..<6 {
        let text = random.text()
        let range = NSRange(location: 0, length: text.utf16.count)
        let expected = expression.firstMatch(in: text, range: range) != nil
        guard try matches(text, pattern) == expected else {
          Issue.record("'\(pattern)' and '\(text)', COHERENCE_SEED=\(seed)")
          return
        }
        compared += 1
      }
    }
    #expect(compared > 1_250)
  }
}

/// Patterns without quantified empty parts, in which ICU can lose itself, and texts that some of them match.
private struct PatternGenerator {
  private var state: UInt64
  init(seed: UInt64) { state = seed }

  private mutating func number(below limit: Int) -> Int {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return Int((state >> 33) % UInt64(limit))
  }

  private mutating func choice(_ texts: [String]) -> String { texts[number(below: texts.count)] }

  mutating func text() -> String {
    (0..<number(below: 8)).map { _ in
      choice(["a", "a", "b", "c", "A", "1", " ", "-", ".", "\n", "\r", "\u{E9}", "\u{1F600}", "\u{2028}"])
    }.joined()
  }

  mutating func pattern(depth: Int) -> String {
    let sequence = (0..<(1 + number(below: 3))).map { _ in piece(depth: depth) }.joined()
    return depth > 0 && number(below: 4) == 0 ? sequence + "|" + pattern(depth: depth - 1) : sequence
  }

  private mutating func piece(depth: Int) -> String {
    switch number(below: 10) {
    case 0: return choice(["^", "$"])
    case 1,
      2 where depth > 0:
      return "(a" + pattern(depth: depth - 1).replacing("|", with: "|b") + ")" + quantifier()
    default: return atom() + quantifier()
    }
  }

  private mutating func atom() -> String {
    choice([
      "a", "a", "b", "1", ".", "\\d", "\\w", "\\s", "\\D", "\\W", "\\S", "\\.", "\\-", "[ab]", "[^a]", "[a-c1]",
      "[\\d.]",
      "[^\\s-]", "[.*+?]", "\u{E9}", "\\n",
    ])
  }

  private mutating func quantifier() -> String {
    choice(["", "", "", "*", "+", "?", "{2}", "{1,2}", "{0,1}", "{2,}", "*?", "+?", "??"])
  }
}
