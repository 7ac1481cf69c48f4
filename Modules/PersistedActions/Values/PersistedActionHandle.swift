public import Foundation

/// Identifies an enqueued action in any process. A program may store the handle for later.
///
/// A handle with a unique key may stand for an equal action of another save, which the handle's action was joined to.
/// The store does not know which actions were joined: without a record of its own, the handle stands for the latest
/// action with the same name and key, also after the deletion of its own action. ``PersistedActions/action(_:)`` returns
/// that action, and only ``PersistedActions/delete(_:)`` requires the handle of its own.
public struct PersistedActionHandle: Codable, Sendable, Hashable {
  /// The identifier, chosen when the action was enqueued.
  public let id: UUID
  /// The name of the action; see ``PersistedAction/name``.
  public let name: String
  /// The unique key of the action; `nil` for none.
  public let uniqueKey: String?

  /// Makes a handle from stored parts.
  public init(id: UUID, name: String, uniqueKey: String? = nil) {
    self.id = id
    self.name = name
    self.uniqueKey = uniqueKey
  }
}
