/// The differences that a comparison of texts ignores. Without options, texts are compared by their UTF-8 bytes.
public struct StringOptions: OptionSet, Sendable, Hashable {
  /// The bits of the options: 1 for case, 2 for diacritics.
  public let rawValue: Int
  /// Makes options from their bits.
  public init(rawValue: Int) { self.rawValue = rawValue }
  /// Upper and lower case are the same, by Unicode's simple case folding without a locale.
  public static let caseInsensitive = StringOptions(rawValue: 1)
  /// Letters with and without marks are the same; precomposed and decomposed forms too.
  public static let diacriticInsensitive = StringOptions(rawValue: 2)
}
