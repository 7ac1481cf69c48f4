/// The constants that a text is compared with, without the differences that the comparison ignores.
package struct FoldedConstants: Sendable {
  package let texts: [String]
  /// Whether the comparison counts letters: a part of a pattern stands for any one letter.
  package let countsLetters: Bool

  init(_ texts: [String], countsLetters: Bool = false) {
    self.texts = texts
    self.countsLetters = countsLetters
  }
}
