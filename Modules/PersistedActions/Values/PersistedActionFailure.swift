public import Foundation

/// A failed attempt of a persisted action.
public struct PersistedActionFailure: Codable, Sendable, Hashable {
  /// The number of the attempt; the first is 1.
  public let attempt: Int
  /// The end of the attempt.
  public let date: Date
  /// A text without values of records: the sentence of an error that is made for logs, and the type of any other error.
  public let text: String
}
