public import CoherenceCore

/// The decision about an edit after the server has reported that its record differs from the values on which the edit
/// is based.
///
/// The deletion of a record of which the server has reported all values, and other values only of the properties that
/// it assigns itself, is in no conflict: it is sent again as under ``Resolution/sendAgain``, without a decision. A
/// reply has no relationships, so that the policy decides about every record with a to-one relationship.
///
/// An update whose values the server's record has already is in no conflict either, and counts as accepted: the reply
/// to an earlier attempt may have been lost.
public struct ForwardConflictPolicy: Sendable {
  /// The decision about one conflict.
  public enum Resolution: Sendable, Hashable {
    /// The edit is parked with ``ErrorCode/forwardConflict``, and ``Outbox/conflicts(in:limit:after:)`` lists the
    /// server's values until the user resolves the conflict, or retries, edits or drops the entry.
    case park
    /// The server's values are written to the local record, and the edit is removed. Later local edits stay.
    ///
    /// An attribute or a to-one relationship of an update that the server has not reported regains the value on which
    /// the edit is based. The members that the update has added to a to-many relationship leave, and those that it has
    /// removed come back. Until the next page, an edited order of members stays as it is, and so does a one-to-one
    /// relationship whose former partner another record has got since. A deleted record is inserted again:
    /// with the server's values, with its own values of the other properties, and without members of to-many
    /// relationships. A service that sends each change once sends no such page: request the record, for example with
    /// `read` of a refresher, or let the policy decide otherwise about edits of orders and deletions.
    case acceptServer
    /// The edit is sent again, with a new idempotency key, and with the server's values of the changed attributes as
    /// ``ForwardRequest/base``. An insert has no base.
    /// After the last attempt of ``ForwardOptions/retry`` the edit is parked instead.
    case sendAgain
  }

  let resolve: @Sendable (ForwardRequest<ManagedObject>, [String: AttributeValue]) -> Resolution

  /// Every edit with a conflict is parked.
  public static let park = ForwardConflictPolicy { _, _ in .park }
  /// The server's values win.
  public static let acceptServer = ForwardConflictPolicy { _, _ in .acceptServer }
  /// The local edit wins: it is sent again over the server's values.
  public static let sendAgain = ForwardConflictPolicy { _, _ in .sendAgain }

  /// A policy that decides for each conflict.
  ///
  /// - Parameter resolve: Called with the refused request and the values of the server's record, on no particular
  ///   thread.
  public static func custom(
    _ resolve:
      @escaping @Sendable (
        _ request: ForwardRequest<ManagedObject>, _ serverValues: [String: AttributeValue]
      ) -> Resolution
  ) -> ForwardConflictPolicy { ForwardConflictPolicy(resolve: resolve) }
}
