public import CoherenceCore

/// The decision of a server about an edit, as a handler returns it.
///
/// A handler that throws asks for another attempt: the retry policy of ``ForwardOptions`` decides when, and how often.
public struct ForwardAnswer: Sendable {
  enum Decision: Sendable {
    case accepted([String: AttributeValue])
    case conflict([String: AttributeValue])
    case rejected(any Error)
    case later(Duration)
  }

  let decision: Decision

  /// The server has applied the edit, or had applied it at an earlier attempt with the same idempotency key.
  public static let accepted = ForwardAnswer(decision: .accepted([:]))

  /// The server has applied the edit, and its record has these values now: keys that the server assigned, versions,
  /// dates, normalized texts.
  ///
  /// The values are written to the local record in the transaction that removes the edit from the outbox. A property
  /// with a later local edit keeps its local value. Values of a record that was deleted locally are written to the keys
  /// of its later entries only.
  ///
  /// - Parameter values: The values by the names of attributes; other attributes keep their values.
  public static func accepted(_ values: [String: (any AttributeConvertible)?]) -> ForwardAnswer {
    ForwardAnswer(decision: .accepted(attributeValues(values)))
  }

  /// The server has not applied the edit, because its record has other values than the edit is based on. The
  /// ``ForwardOptions/conflictPolicy`` decides the further course.
  ///
  /// - Parameter values: The values of the server's record by the names of attributes.
  public static func conflict(_ values: [String: (any AttributeConvertible)?]) -> ForwardAnswer {
    ForwardAnswer(decision: .conflict(attributeValues(values)))
  }

  /// The server refuses the edit, and another attempt is useless. The edit is parked with the error.
  public static func rejected(_ error: any Error) -> ForwardAnswer { ForwardAnswer(decision: .rejected(error)) }

  /// The server asks for another attempt after a time. The attempt counts, but the retry policy's end does not apply.
  ///
  /// - Parameter delay: The shortest delay, up to ``ForwardOptions/longestDelay``.
  public static func retry(after delay: Duration) -> ForwardAnswer { ForwardAnswer(decision: .later(delay)) }

  private static func attributeValues(
    _ values: [String: (any AttributeConvertible)?]
  ) -> [String: AttributeValue] {
    values.mapValues { $0?.attributeValue ?? .null }
  }
}
