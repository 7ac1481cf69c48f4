/// What happened to an entity.
public struct ChangeRecord: Sendable {
  /// The kinds of changes.
  public enum Kind: String, Sendable {
    /// It is new, or has another value.
    case stored
    /// It was removed, or nothing kept it any more.
    case removed
  }

  /// Counts the changes of the store.
  public let number: Int
  /// What happened.
  public let kind: Kind
  /// The entity's type.
  public let type: String
  /// The entity's identifier.
  public let id: String
  /// The origin of the change, as given to its transaction.
  public let origin: String?
}
