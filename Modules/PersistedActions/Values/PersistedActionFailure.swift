public import Foundation

/// A failed attempt of a persisted action.
public struct PersistedActionFailure: Codable, Sendable, Hashable {
  /// The number of the attempt; the first is 1.
  public let attempt: Int
  /// The date of the attempt's end.
  public let date: Date
  /// A text without values of records: the sentence of a `LoggableError`, and only the type of any other error.
  public let text: String
}
