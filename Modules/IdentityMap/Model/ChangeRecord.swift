/// A change of an entity, for the change log.
public struct ChangeRecord: Sendable {
  /// The kinds of changes.
  public enum Kind: String, Sendable {
    /// The entity is new, or has another value.
    case stored
    /// The entity was removed or evicted.
    case removed
  }

  /// The number of the change in its store, in order.
  public let number: Int
  /// The kind of the change.
  public let kind: Kind
  /// The entity's type.
  public let type: String
  /// The entity's identifier.
  public let id: String
  /// The origin of the change, as given to its transaction.
  public let origin: String?
}
