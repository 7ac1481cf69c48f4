import CoherenceCore
import CoherenceSQL

/// Conditions of the server that ignore case or diacritics, with the same result as Core's folding of texts.
///
/// The server's own functions do not fold as Core does: the result depends on the server's release, and on its locale.
/// But the result of a comparison with a constant depends only on the letters of the constant. So a statement replaces
/// the letters that fold to a letter of the constant, and drops the marks. Other letters may stay as they are.
struct PostgreSQLFolding: Sendable {
  private let options: StringOptions
  /// The other letters that fold to a letter, by that letter.
  private let variants: [Unicode.Scalar: [Unicode.Scalar]]
  /// The marks that folding drops.
  private let marks: [ClosedRange<UInt32>]
  /// The letters in the foldings of single letters to several letters. No replacement of letter by letter finds them.
  private let expansionLetters: Set<Unicode.Scalar>

  /// The folding by options.
  static func by(_ options: StringOptions) -> PostgreSQLFolding {
    switch options {
    case .caseInsensitive: ofCase
    case .diacriticInsensitive: ofDiacritics
    default: ofBoth
    }
  }

  private static let ofCase = PostgreSQLFolding(.caseInsensitive)
  private static let ofDiacritics = PostgreSQLFolding(.diacriticInsensitive)
  private static let ofBoth = PostgreSQLFolding([.caseInsensitive, .diacriticInsensitive])

  /// Folds each letter that folding may change. Takes some tens of milliseconds.
  private init(_ options: StringOptions) {
    self.options = options
    var variants: [Unicode.Scalar: [Unicode.Scalar]] = [:]
    var marks: [ClosedRange<UInt32>] = []
    var expansionLetters: Set<Unicode.Scalar> = []
    for value in Self.changing.joined() {
      guard let scalar = Unicode.Scalar(value) else { continue }
      let folded = String(scalar).folded(options).unicodeScalars
      switch folded.count {
      case 0:
        if let last = marks.last, last.upperBound + 1 == value {
          marks[marks.count - 1] = last.lowerBound...value
        } else {
          marks.append(value...value)
        }
      case 1: if let letter = folded.first, letter != scalar { variants[letter, default: []].append(scalar) }
      default: expansionLetters.formUnion(folded)
      }
    }
    (self.variants, self.marks, self.expansionLetters) = (variants, marks, expansionLetters)
  }

  /// The letters that folding may change. Ideographs and private letters have neither case nor diacritics, and the
  /// letters of hangul syllables are none of Latin.
  static let changing: [ClosedRange<UInt32>] = [0x21...0x33FF, 0xA000...0xABFF, 0xF900...0xFFFD, 0x1_0000...0x1_FFFD]

  /// Returns a text that compares with constants as the folded text does; `nil` without a proof.
  ///
  /// Folding by case replaces each letter by one letter, regardless of its neighbours. Dropping diacritics decomposes
  /// and composes the text, which no letter of ASCII takes part in.
  ///
  /// - Parameter constants: The folded constants.
  func text(_ text: SQLFragment, comparing constants: FoldedConstants) -> SQLFragment? {
    let letters = Set(constants.texts.flatMap(\.unicodeScalars))
    let dropsMarks = options.contains(.diacriticInsensitive)
    if dropsMarks {
      guard !constants.countsLetters, letters.allSatisfy({ $0.isASCII && !expansionLetters.contains($0) })
      else { return nil }
    } else if letters.allSatisfy({ variants[$0] == nil }) {
      return text
    }
    let foldedASCII: SQLFragment =
      options.contains(.caseInsensitive) ? "pg_catalog.lower(\(text) COLLATE pg_catalog.\"C\")" : text
    let withoutMarks: SQLFragment =
      dropsMarks ? "pg_catalog.regexp_replace(\(text), \(text: markPattern), '', 'g')" : text
    // Most texts are of ASCII only. The server folds them in less than half of the time.
    return """
      CASE WHEN pg_catalog.octet_length(\(text)) = pg_catalog.char_length(\(text)) THEN \(foldedASCII) \
      ELSE \(replaced(withoutMarks, letters)) END
      """
  }

  /// The text with each variant of the letters replaced by its letter.
  private func replaced(_ text: SQLFragment, _ letters: Set<Unicode.Scalar>) -> SQLFragment {
    var (from, to) = ("", "")
    for letter in letters.sorted() {
      for variant in variants[letter] ?? [] {
        from.unicodeScalars.append(variant)
        to.unicodeScalars.append(letter)
      }
    }
    return from.isEmpty ? text : "pg_catalog.translate(\(text), \(text: from), \(text: to))"
  }

  /// The regular expression of a mark.
  private var markPattern: String {
    func escaped(_ value: UInt32) -> String {
      let digits = String(value, radix: 16)
      return "\\U" + String(repeating: "0", count: 8 - digits.count) + digits
    }
    let ranges = marks.map { range in
      range.count == 1 ? escaped(range.lowerBound) : "\(escaped(range.lowerBound))-\(escaped(range.upperBound))"
    }
    return "[\(ranges.joined())]"
  }
}
