import Foundation

extension String {
  /// Returns the text without the differences that the options ignore: two texts equal by the options have equal bytes
  /// afterwards. The result is the same on every platform and in every locale. The cost grows with the length of the
  /// text; a text of ASCII characters is folded without Unicode's tables.
  ///
  /// - `diacriticInsensitive` decomposes the text canonically, drops the marks, and composes it again. Marks that make
  ///   another letter stay: nuktas, the voicing marks of kana, and viramas. Letters without a decomposition, such as
  ///   `ø` and `ł`, stay too.
  /// - `caseInsensitive` folds character by character: `ß` and `ẞ` are the same and differ from `ss`; the dotless `ı`
  ///   is a letter of its own.
  public func folded(_ options: StringOptions) -> String {
    if options.isEmpty { return self }
    if utf8.allSatisfy({ $0 < 0x80 }) {
      return options.contains(.caseInsensitive) ? lowercasedASCII() : self
    }
    // Marks first: without its dot, `İ` is a plain `I`, which then folds. With the dot, `İ` has no simple folding.
    let bare = options.contains(.diacriticInsensitive) ? withoutDiacritics() : self
    return options.contains(.caseInsensitive) ? bare.caseFolded() : bare
  }

  private func lowercasedASCII() -> String {
    String(unsafeUninitializedCapacity: utf8.count) { buffer in
      var count = 0
      for byte in utf8 {
        buffer[count] = (0x41...0x5A).contains(byte) ? byte | 0x20 : byte
        count += 1
      }
      return count
    }
  }

  private func withoutDiacritics() -> String {
    var result = String.UnicodeScalarView()
    for scalar in decomposedStringWithCanonicalMapping.unicodeScalars where !scalar.isDiacritic {
      result.append(scalar)
    }
    return String(result).precomposedStringWithCanonicalMapping
  }

  private func caseFolded() -> String {
    var result = String.UnicodeScalarView()
    for scalar in unicodeScalars { result.append(scalar.caseFolded) }
    return String(result)
  }
}

extension Unicode.Scalar {
  /// Whether the scalar is a mark on a letter that does not make another letter of it.
  fileprivate var isDiacritic: Bool {
    guard value >= 0x300, properties.generalCategory == .nonspacingMark else { return false }
    switch properties.canonicalCombiningClass {
    case .notReordered, .nukta, .kanaVoicing, .virama: return false
    default: return true
    }
  }

  /// Unicode's simple case folding, made of its case mappings: a letter's small form by way of its capital, where both
  /// are one scalar.
  fileprivate var caseFolded: Unicode.Scalar {
    // The dotless i has I for its capital but does not fold with i.
    if value == 0x131 { return self }
    let capital = Self.only(properties.uppercaseMapping) ?? self
    return Self.only(capital.properties.lowercaseMapping) ?? self
  }

  /// The scalar of a text of exactly one scalar; `nil` for any other text.
  private static func only(_ text: String) -> Unicode.Scalar? {
    let scalars = text.unicodeScalars
    guard let first = scalars.first, scalars.index(after: scalars.startIndex) == scalars.endIndex else { return nil }
    return first
  }
}
