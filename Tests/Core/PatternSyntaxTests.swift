import CoherenceCore
import Foundation
import Testing

/// The limits of the syntax of patterns: each pattern is valid, and matches the same texts, as in ICU.
@Suite("Syntax of patterns")
struct PatternSyntaxTests {
  private let library: QueryLibrary

  init() throws { library = try QueryLibrary() }

  private func matches(_ text: String, _ pattern: String, _ options: StringOptions = []) throws -> Bool {
    let artist = try library.make("Artist", ["name": text])
    return try library.holds(
      .comparison(.path(PropertyPath("name")), .matches, .value(.string(pattern)), options), for: artist)
  }

  private static let texts = [
    "", "a", "b", "d", "z", "A", "0", "]", "[", "-", "+", ",", ":", "^", "$", "&", "\\", "a]", "[a]", "a-", "aa", "aaa",
    "ab", "aab", "l", " ", "_", "\n", "{", "}", "a{", "a+",
  ]

  @Test(arguments: [
    "[:alpha:]", "[[:alpha:]]", "[]a]", "[^]a]", "[a-]", "[-a]", "[a&&b]", "[a&b]", "[a^b]", "[a$b]", "[ab", "[a\\]",
    "[\\d-z]", "[z-a]", "[a-a]", "[a-c-e]", "[+-\\]]", "[\\s\\d]", "[^\\s\\S]", "[^\\w]", "[\\]\\-]", "[{}]",
  ])
  func `a set of characters has the same members as in ICU`(pattern: String) throws { try compare(pattern) }

  @Test(arguments: [
    "a{2,1}", "a{2,2}", "a{1,2}", "a{,2}", "a{}", "a{x}", "a{", "a{0}", "a{0,0}", "a{0,1}", "a{00002}", "a**", "a*+",
    "a*?", "a*??", "a++b", "a+?b", "a?+a", "^*", "$+", "^a?", "a$?", "*", "+", "?", "{", "}",
  ])
  func `a quantifier has the same meaning as in ICU`(pattern: String) throws { try compare(pattern) }

  @Test(arguments: [
    "(", ")", "(a", "a)", "(a|b)", "(?:a|b)", "(?:a)+", "(?=a)a", "(?!b)a", "(?i)a", "(?>a+)b", "a|", "|a", "a||b", "|",
    "\\", "\\Qa]\\E", "\\x41", "\\u0041", "\\p{L}", "\\.", "\\]", "\\_", "\\{", "\\n", "]", "a]",
  ])
  func `a group, an alternative and an escape have the same meaning as in ICU`(pattern: String) throws {
    try compare(pattern)
  }

  /// Expects the result of ICU for each text, or the refusal of a pattern that ICU refuses.
  private func compare(_ pattern: String) throws {
    let alone = try? NSRegularExpression(pattern: pattern)
    let whole = try? NSRegularExpression(pattern: "\\A(?:\(pattern))\\z")
    for text in Self.texts {
      guard alone != nil, let whole else {
        let error = #expect(throws: CoherenceError.self) { try matches(text, pattern) }
        #expect(error?.code == .invalidPredicate)
        continue
      }
      let range = NSRange(location: 0, length: text.utf16.count)
      let expected = whole.firstMatch(in: text, range: range) != nil
      #expect(try matches(text, pattern) == expected, "'\(text)'")
    }
  }

  @Test(arguments: [
    "(?:a+)+$", "(a+)+?$", String(repeating: "(b?)", count: 101) + "(a+)+$",
    String(repeating: "(", count: 100) + "a+" + String(repeating: ")", count: 100) + "+$",
  ])
  func `lazy quantifiers, groups without a number and a hundred groups need no backtracking`(pattern: String) throws {
    let text = String(repeating: "a", count: 40)
    #expect(try matches(text, pattern))
    #expect(try !matches(text + "?", pattern))
  }

  @Test(arguments: [
    ("\u{1F600}", "\u{1F600}", true), ("\u{1F600}", "\u{1F601}", false), ("\u{1F600}", "\u{1F640}", false),
    ("\u{1F600}", "\u{2F600}", false), ("\u{915}", ".", true), ("\u{915}", "\u{915}", true),
    ("\u{915}", "\u{916}", false), ("\u{915}", "\u{955}", false), ("\u{7FF}\u{800}", "\u{7FF}\u{800}", true),
    ("\u{FFFF}\u{10000}", "\u{FFFF}\u{10000}", true), ("\u{10FFFF}", "[\u{10000}-\u{10FFFF}]", true),
  ])
  func `a character of any number of bytes is compared as a whole`(text: String, pattern: String, isMatch: Bool) throws
  {
    #expect(try matches(text, pattern) == isMatch)
  }

  @Test(arguments: [
    ("\n", "$\n", true), ("\r", "$\r", true), ("\r\n", "$\r\n", true), ("\r\n", "\r$\n", false),
    ("\n\n", "$\n\n", false),
    ("\u{85}", "$\u{85}", true), ("\u{2029}", "$\u{2029}", true), ("a\r", "a$\r", true), ("\t", "$\t", false),
  ])
  func `the end of a text is before its last line terminator too`(text: String, pattern: String, isMatch: Bool) throws {
    #expect(try matches(text, pattern) == isMatch)
  }

  @Test func `joiners, marks and connectors belong to words, and other signs do not`() throws {
    for text in ["\u{200C}", "\u{200D}", "_", "\u{301}", "\u{20DD}", "\u{203F}", "a", "7"] {
      #expect(try matches(text, "\\w") && !matches(text, "\\W"), "\(text.unicodeScalars)")
    }
    for text in ["\u{200B}", "-", " ", "+"] {
      #expect(try matches(text, "\\W") && !matches(text, "\\w"), "\(text.unicodeScalars)")
    }
  }

  @Test func `only letters have another case`() throws {
    for (text, pattern) in [("@", "`"), ("[", "\\{"), ("`", "@"), ("{", "\\["), ("1", "\u{11}"), ("_", "\u{7F}")] {
      #expect(try !matches(text, pattern, .caseInsensitive), "'\(text)'")
    }
    for (text, pattern) in [("Z", "z"), ("a", "A"), ("z", "[X-Z]"), ("A", "[^b]")] {
      #expect(try matches(text, pattern, .caseInsensitive), "'\(text)'")
    }
  }

  @Test(arguments: [
    ("a\\", "a\\", true), ("a\\b", "a\\\\b", true), ("*", "\\*", true), ("a", "\\*", false), ("?", "\\?", true),
    ("a", "\\?", false),
    ("a*", "\\a*", true), ("aXXbXb", "a*b", true), ("aXXbX", "a*b", false), ("abab", "*ab", true),
    ("abc", "a**c", true),
    ("ab", "ab*", true), ("ab", "*?*", true), ("", "*", true), ("", "?", false), ("", "", true), ("a", "", false),
    ("\u{E9}", "?", true), ("\u{E9}\u{E9}", "?", false), ("\u{1F600}", "?", true), ("x\u{E9}y", "*?y", true),
    ("x\u{E9}", "*\u{E9}", true), ("a\u{E9}b", "a?b", true), ("aab", "*a?", true), ("aaa", "a*a*a*a", false),
  ])
  func `a wildcard stands for characters, unless a backslash precedes it`(
    text: String, pattern: String, isMatch: Bool
  ) throws {
    let artist = try library.make("Artist", ["name": text])
    let predicate = FetchPredicate.comparison(
      .path(PropertyPath("name")), .like, .value(.string(pattern)))
    #expect(try library.holds(predicate, for: artist) == isMatch)
  }

  @Test func `tens of thousands of trials are within the limit, unless the pattern has great counts`() throws {
    let text = String(repeating: "a", count: 30_000) + "b"
    #expect(try matches(text, "(?=a)a*?b"))
    // The counted repetition may take thousands of operations for a trial.
    let error = #expect(throws: CoherenceError.self) { try matches(text, "(?=a)a*?b(?:c{9999})?") }
    #expect(error?.code == .limitExceeded)
  }
}
