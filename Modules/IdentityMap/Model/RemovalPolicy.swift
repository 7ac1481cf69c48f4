/// The effect on an aggregate when one of its entities is removed from the store. Each key path of an aggregate has its
/// own policy; see ``PartialIdentifiableKeyPath/onRemoval(_:)``.
public enum RemovalPolicy: Sendable, Equatable {
  /// The aggregate loses the entity: an optional becomes `nil`, a collection loses the element, and an aggregate that
  /// needs the entity is removed too. This is the default.
  case cascade
  /// The aggregate keeps the last value of the entity. It follows the entity again when one with its identifier is
  /// stored; storing the aggregate itself stores the entity too.
  case keepLastValue
  /// The entity cannot be removed while an aggregate contains it at the key path: the removal changes nothing, see
  /// ``RemovalRefusal``. An aggregate does not refuse when the removal also removes the aggregate.
  case refuse
}

/// Why an entity was not removed: aggregates that stay refuse it. Nothing was changed.
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
    """
    \(entity) was not removed, because \(referrers.map(\.description).joined(separator: ", ")) need it. Remove the entity \
    from them, or remove them, first.
    """
  }
}
