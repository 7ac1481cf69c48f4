import CoherenceCore
import Testing

@Suite struct QueryFoldingTests {
  @Test(arguments: [
    ("ABC xyz 1", "abc xyz 1"), ("ÀÉÎ", "àéî"), ("Σσς", "σσσ"), ("ẞß", "ßß"), ("ſK", "sk"), ("ıIiİ", "ıiiİ"),
    ("ǅǄǆ", "ǆǆǆ"), ("ЖЯ", "жя"), ("İ", "İ"), ("日本", "日本"), ("", ""),
  ])
  func `case folds character by character`(text: String, folded: String) {
    #expect(Array(text.folded(.caseInsensitive).utf8) == Array(folded.utf8))
  }

  @Test(arguments: [
    ("éèê e\u{301}", "eee e"), ("Ångström", "Angstrom"), ("ệ", "e"), ("ø ł đ ß", "ø ł đ ß"), ("İ", "I"), ("й", "и"),
    ("が", "が"), ("한글", "한글"), ("क्ष ज़", "क्ष ज\u{93C}"), ("ABC", "ABC"), ("שָׁלוֹם", "שלום"),
  ])
  func `diacritics fold by canonical decomposition, and marks that make letters stay`(text: String, folded: String) {
    #expect(Array(text.folded(.diacriticInsensitive).utf8) == Array(folded.utf8))
  }

  @Test func `both options together fold marks before case`() {
    #expect("İSTANBUL ÉCLAIR".folded([.caseInsensitive, .diacriticInsensitive]) == "istanbul eclair")
  }

  @Test func `folding a folded text changes nothing`() {
    for value in UInt32(0)...0x1FFFF {
      guard let scalar = Unicode.Scalar(value) else { continue }
      for options in [StringOptions.caseInsensitive, .diacriticInsensitive, [.caseInsensitive, .diacriticInsensitive]] {
        let once = String(scalar).folded(options)
        let twice = once.folded(options)
        if Array(once.utf8) != Array(twice.utf8) {
          Issue.record("U+\(String(value, radix: 16)) folds twice with options \(options.rawValue).")
        }
      }
    }
  }
}
