public import CoherenceCore
public import Foundation

/// Identifies an enqueued action in any process. A program may store the handle for later.
///
/// A handle with a unique key may stand for an equal action of another save, which the handle's action was joined to.
/// The store does not know which actions were joined: without a record of its own, the handle stands for the latest
/// action with the same name and key in the store of the handle, also after the deletion of its own action. For a handle
/// without a store, this is the latest one in any attached store. ``PersistedActions/action(_:)`` returns that action,
/// and only ``PersistedActions/delete(_:)`` requires the handle of its own.
public struct PersistedActionHandle: Codable, Sendable, Hashable {
  /// The identifier, chosen when the action was enqueued.
  public let id: UUID
  /// The name of the action; see ``PersistedAction/name``.
  public let name: String
  /// The unique key of the action; `nil` for none.
  public let uniqueKey: String?
  /// The text of ``storeIdentifier``.
  private let storeText: String?

  private enum CodingKeys: String, CodingKey {
    case id, name, uniqueKey
    case storeText = "store"
  }

  /// Makes a handle from stored parts.
  public init(id: UUID, name: String, uniqueKey: String? = nil, storeIdentifier: StoreIdentifier? = nil) {
    self.id = id
    self.name = name
    self.uniqueKey = uniqueKey
    storeText = storeIdentifier?.rawValue
  }

  /// The store of the action; `nil` if the save had yet to choose the store when the handle was made.
  public var storeIdentifier: StoreIdentifier? { storeText.map { StoreIdentifier($0) } }

  /// Compares the identifiers, the names and the unique keys; not the stores, which one of two handles of an action may
  /// lack.
  public static func == (left: PersistedActionHandle, right: PersistedActionHandle) -> Bool {
    left.id == right.id && left.name == right.name && left.uniqueKey == right.uniqueKey
  }

  /// Hashes the identifier, the name and the unique key.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(id)
    hasher.combine(name)
    hasher.combine(uniqueKey)
  }
}
