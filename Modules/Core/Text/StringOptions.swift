/// The differences that a comparison of texts ignores. Without options, texts are compared by their UTF-8 bytes.
public struct StringOptions: OptionSet, Sendable, Hashable {
  public let rawValue: Int
  public init(rawValue: Int) { self.rawValue = rawValue }
  /// Upper and lower case are the same, by Unicode's simple case folding without a locale.
  public static let caseInsensitive = StringOptions(rawValue: 1)
  /// Letters with and without marks are the same; precomposed and decomposed forms too.
  public static let diacriticInsensitive = StringOptions(rawValue: 2)
}
