public import Foundation

/// Names an enqueued action, in any process and for later.
///
/// A handle of an action with a unique key may name an action that another save has enqueued with the same key.
public struct PersistedActionHandle: Codable, Sendable, Hashable {
  /// The identifier, chosen when the action was enqueued.
  public let id: UUID
  /// The name of the action; see ``PersistedAction/name``.
  public let name: String
  /// The key that the action was enqueued with.
  public let uniqueKey: String?

  /// Makes a handle from stored parts.
  public init(id: UUID, name: String, uniqueKey: String? = nil) {
    self.id = id
    self.name = name
    self.uniqueKey = uniqueKey
  }
}
