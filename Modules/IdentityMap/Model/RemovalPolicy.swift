/// The effect on an aggregate when one of its entities is removed from the store. Each key path of an aggregate has its
/// own policy; see ``PartialIdentifiableKeyPath/onRemoval(_:)``.
public enum RemovalPolicy: Sendable, Equatable {
  /// The aggregate loses the entity: an optional becomes `nil`, a collection loses the element, and an aggregate that
  /// requires the entity is removed too. This is the default.
  case cascade
  /// The aggregate keeps the last value of the entity. It follows the entity again when an entity with its identifier
  /// is stored; storing the aggregate itself stores the entity too.
  case keepLastValue
  /// The entity cannot be removed while an aggregate contains it at the key path: the removal changes nothing, see
  /// ``RemovalRefusal``. An aggregate does not refuse when the removal also removes the aggregate.
  case refuse
}

/// The reason why an entity was not removed: remaining aggregates refuse the removal. Nothing was changed.
public struct RemovalRefusal: Error, Equatable, Sendable, CustomStringConvertible {
  /// An entity, by the name of its type and the description of its identifier.
  public struct Reference: Hashable, Sendable, CustomStringConvertible {
    /// The name of the type.
    public let type: String
    /// The description of the identifier.
    public let id: String

    public var description: String { "\(type) \(id)" }
  }

  /// The entity to remove.
  public let entity: Reference
  /// The aggregates that refuse, sorted by type and identifier.
  public let referrers: [Reference]

  public var description: String {
    let aggregates = referrers.map(\.description).joined(separator: ", ")
    return """
      \(entity) was not removed, because the removal policy of \(aggregates) refuses it. Remove the entity from these \
      aggregates, or remove the aggregates first.
      """
  }
}
