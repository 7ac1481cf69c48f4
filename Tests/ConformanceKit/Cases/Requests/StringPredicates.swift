import CoherenceCore

extension ConformanceSubject {
  static let stringPredicates = ConformanceSubject("Predicates on text") {
    bytes
    folded
    patterns
  }

  @CasesBuilder private static var bytes: [Case] {
    finds("begins with", "Album", compare("title", .beginsWith, "Bitches"), ["Bitches Brew"])
    finds("begins with minds case", "Album", compare("title", .beginsWith, "bitches"), [])
    finds("ends with", "Album", compare("title", .endsWith, "Blue"), ["Kind of Blue"])
    finds("contains", "Album", compare("title", .contains, " of "), ["Kind of Blue"])
    finds(
      "every text begins with the empty text", "Genre", compare("name", .beginsWith, ""),
      [
        "Jazz", "Modal", "Pop", "Rock",
      ])
    finds(
      "a missing text does not contain the empty text", "Performer", compare("country", .contains, ""),
      [
        "Abba", "Bj\u{F6}rk", "Ella", "Miles", "nina",
      ])
    finds("a percent sign stands for itself", "Album", compare("title", .contains, "%"), ["100% Pure_"])
    finds("an underscore stands for itself", "Album", compare("title", .endsWith, "_"), ["100% Pure_"])
    finds("a backslash stands for itself", "Album", compare("title", .contains, "\\"), [])
    finds("an apostrophe stands for itself", "Track", compare("title", .contains, "h's"), ["Pharaoh's Dance"])
    finds(
      "text is compared over a relationship", "Album", compare("artist.name", .beginsWith, "M"),
      [
        "Bitches Brew", "Kind of Blue",
      ])
    finds("a decomposed letter is not a precomposed one", "Performer", compare("name", .contains, "o\u{308}"), [])
    finds("a letter is not its marked form", "Performer", compare("name", .contains, "Bjo"), [])
    finds("a letter is found by its bytes", "Performer", compare("name", .beginsWith, "Bj\u{F6}"), ["Bj\u{F6}rk"])
  }

  @CasesBuilder private static var folded: [Case] {
    finds("equality without case", "Performer", compare("name", .equal, "NINA", .caseInsensitive), ["nina"])
    finds(
      "inequality without case", "Genre", compare("name", .notEqual, "JAZZ", .caseInsensitive),
      [
        "Modal", "Pop", "Rock",
      ])
    finds(
      "begins with, without case", "Performer", compare("name", .beginsWith, "BJ\u{D6}", .caseInsensitive),
      [
        "Bj\u{F6}rk"
      ])
    finds("ends with, without case", "Album", compare("title", .endsWith, "BLUE", .caseInsensitive), ["Kind of Blue"])
    finds(
      "contains, without case", "Album", compare("title", .contains, "LIVE", .caseInsensitive),
      [
        "Live in Berlin"
      ])
    finds("equality without marks", "Track", compare("title", .equal, "cafe", .diacriticInsensitive), ["caf\u{E9}"])
    finds(
      "a decomposed text equals a precomposed one without marks", "Track",
      compare("title", .equal, "cafe\u{301}", .diacriticInsensitive), ["caf\u{E9}"])
    finds("case still matters without marks", "Track", compare("title", .equal, "CAFE", .diacriticInsensitive), [])
    finds(
      "contains, without case and marks", "Performer",
      compare("name", .contains, "JORK", [.caseInsensitive, .diacriticInsensitive]), ["Bj\u{F6}rk"])
    finds("order without case", "Performer", compare("name", .less, "b", .caseInsensitive), ["Abba"])
  }

  @CasesBuilder private static var patterns: [Case] {
    finds("like with a star", "Album", compare("title", .like, "*in*"), ["Kind of Blue", "Live in Berlin"])
    finds("like with a question mark", "Genre", compare("name", .like, "?op"), ["Pop"])
    finds("like takes the whole text", "Genre", compare("name", .like, "az"), [])
    finds("like without wildcards is equality", "Genre", compare("name", .like, "Jazz"), ["Jazz"])
    finds("like takes an escaped star as it is", "Genre", compare("name", .like, "Jazz\\*"), [])
    finds("like takes SQL's wildcards as they are", "Album", compare("title", .like, "100%*_"), ["100% Pure_"])
    finds("like takes SQL's wildcards as no wildcards", "Genre", compare("name", .like, "J%"), [])
    Case("like tells noncharacters from the replacement character", model: Samples.model) { stack in
      let texts = ["a\u{FFFD}", "a\u{FFFE}", "a\u{FFFF}"]
      try stack.write { context in
        for text in texts { try context.make("Sample", ["name": text, "string": text]) }
      }
      try stack.read { context in
        for text in texts {
          try expectEqual(try context.names("Sample", where: compare("string", .like, text + "*")), [text])
        }
        try expectEqual(try context.number(of: "Sample", where: compare("string", .like, "a?")), 3)
      }
    }
    Case("like reads stars, question marks and backslashes alike in a store and in a context", model: Samples.model) {
      stack in
      let texts = ["", "a*b", "a?b", "a\\b", "axb", "ab\\", "\u{E9}", "\u{E9}\u{E9}"]
      let found: [(pattern: String, texts: [String])] = [
        ("a\\*b", ["a*b"]), ("a\\?b", ["a?b"]), ("a\\\\b", ["a\\b"]), ("a\\xb", ["axb"]), ("*\\", ["ab\\"]),
        ("?", ["\u{E9}"]), ("??", ["\u{E9}\u{E9}"]), ("", [""]), ("a?b", ["a*b", "a?b", "a\\b", "axb"]),
        ("**b", ["a*b", "a?b", "a\\b", "axb"]), ("a*b*", ["a*b", "a?b", "a\\b", "ab\\", "axb"]), ("*", texts),
        ("?*", Array(texts.dropFirst())), ("*?*?*?*", ["a*b", "a?b", "a\\b", "ab\\", "axb"]), ("*a", []), ("b*", []),
      ]
      func check(_ context: ManagedObjectContext, _ place: String) throws {
        for (pattern, texts) in found {
          let names = try context.names("Sample", where: compare("string", .like, pattern))
          try expectEqual(Set(names), Set(texts), "the texts like '\(pattern)' in \(place)")
          try expectEqual(names.count, texts.count, "the number of texts like '\(pattern)' in \(place)")
        }
      }
      try stack.write { context in
        for text in texts { try context.make("Sample", ["name": text, "string": text]) }
        try check(context, "the context")
      }
      try stack.read { try check($0, "the store") }
    }
    finds("like without case", "Genre", compare("name", .like, "j*Z", .caseInsensitive), ["Jazz"])
    finds(
      "matches compares the whole text", "Album", compare("title", .matches, "[A-Z][a-z]+"),
      [
        "Arrival", "Debut", "Untitled",
      ])
    finds("matches with alternatives", "Genre", compare("name", .matches, "Jazz|Ro"), ["Jazz"])
    finds("a missing text matches nothing", "Performer", .not(compare("country", .matches, ".*")), ["Can"])
    Case("an invalid pattern is refused") { stack in
      try stack.read { context in
        _ = try expectThrows(.invalidPredicate) { try context.all("Genre", where: compare("name", .matches, "[a")) }
      }
    }
  }
}
