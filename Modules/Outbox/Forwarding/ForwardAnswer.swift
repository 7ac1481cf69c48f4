public import CoherenceCore

/// The decision of a server about an edit, as a handler returns it.
///
/// A handler that throws asks for another attempt: ``ForwardOptions/retry`` sets the delay and the number of attempts.
public struct ForwardAnswer: Sendable {
  /// The decision with its arguments; see the members of the same names, and ``retry(after:)`` for `later`.
  enum Decision: Sendable {
    case accepted([String: AttributeValue])
    case conflict([String: AttributeValue])
    case rejected(any Error)
    case later(Duration)
  }

  let decision: Decision

  /// The server has applied the edit, in this attempt or in an earlier attempt with the same idempotency key.
  public static let accepted = ForwardAnswer(decision: .accepted([:]))

  /// The server has applied the edit, and reports values of its record: assigned keys, versions, dates, normalized
  /// texts.
  ///
  /// The values are written to the local record in the transaction that removes the edit from the outbox. A property
  /// with a later local edit keeps its local value. If the local record is already deleted, only the keys are used, for
  /// its later entries.
  ///
  /// - Parameter values: The reported values by the names of attributes; other attributes keep their values. A `nil`
  ///   clears its attribute, and leaves an identifying attribute as it is: a reply without a key assigns no other key.
  ///   Values of derived attributes have no effect, because saves compute them.
  public static func accepted(_ values: [String: (any AttributeConvertible)?]) -> ForwardAnswer {
    ForwardAnswer(decision: .accepted(attributeValues(values)))
  }

  /// The server has not applied the edit, because its record differs from the values on which the edit is based. The
  /// ``ForwardOptions/conflictPolicy`` decides between the edit and the server's values. An update is accepted if the
  /// server's values are those of the update.
  ///
  /// - Parameter values: The values of the server's record by the names of attributes.
  public static func conflict(_ values: [String: (any AttributeConvertible)?]) -> ForwardAnswer {
    ForwardAnswer(decision: .conflict(attributeValues(values)))
  }

  /// The server refuses the edit, and another attempt is useless. The edit is parked with the error.
  ///
  /// - Parameter error: The reason, for ``OutboxEvent`` and ``OutboxEntry/lastError``.
  public static func rejected(_ error: any Error) -> ForwardAnswer { ForwardAnswer(decision: .rejected(error)) }

  /// The server asks for another attempt after a delay. The attempt counts in ``ForwardRequest/attempt``, but the edit
  /// is not parked after the last attempt of ``ForwardOptions/retry``.
  ///
  /// - Parameter delay: The shortest delay, up to ``ForwardOptions/longestDelay``.
  public static func retry(after delay: Duration) -> ForwardAnswer { ForwardAnswer(decision: .later(delay)) }

  private static func attributeValues(
    _ values: [String: (any AttributeConvertible)?]
  ) -> [String: AttributeValue] {
    values.mapValues { $0?.attributeValue ?? .null }
  }
}

extension ForwardAnswer {
  /// The decision with values in the form in which records have them, so that they can be compared with recorded values:
  /// the integer 2 of a reply equals the double 2 of a record. A value that its attribute refuses stays as it is, and is
  /// refused when it is written. A missing key, and a derived value, which saves compute, are left out.
  func inStoredForm(for entity: EntityDescription?) -> ForwardAnswer {
    guard let entity else { return self }
    func stored(_ values: [String: AttributeValue]) -> [String: AttributeValue] {
      var result = values
      for (name, value) in values {
        guard let attribute = entity.attribute(named: name) else { continue }
        let lacksKey = value.isNull && entity.identifyingAttributes.contains(attribute)
        if lacksKey || !entity.recordsValues(of: attribute) {
          result[name] = nil
        } else if let checked = try? attribute.type.checked(value) {
          result[name] = checked
        }
      }
      return result
    }
    return switch decision {
    case .accepted(let values): ForwardAnswer(decision: .accepted(stored(values)))
    case .conflict(let values): ForwardAnswer(decision: .conflict(stored(values)))
    case .rejected, .later: self
    }
  }
}
