/// A property path resolved for an entity: the relationships to follow, and the target at the end.
public struct ResolvedPath: Sendable, Hashable {
  /// The to-one relationships to follow.
  public var steps: [RelationshipDescription]
  /// The target at the end of the path.
  public var target: Target

  /// The end of a path.
  public enum Target: Sendable, Hashable {
    /// The value of an attribute.
    case attribute(AttributeDescription)
    /// The identifier of a to-one relationship's target.
    case toOne(RelationshipDescription)
    /// The members of a to-many relationship.
    case toMany(RelationshipDescription)
    /// A value computed from the members of a to-many relationship, such as `tracks.@sum.length`.
    indirect case aggregate(MemberAggregate)
    /// The record itself.
    case identity
  }

  /// The entity in which the last property was found.
  public var owner: EntityDescription

  /// Resolves a path for an entity.
  ///
  /// A subentity may declare a name: records of other entities have no value for it. The part of a composite is one
  /// attribute. The name `self` at the end of a path stands for the record that the path has reached.
  ///
  /// Reads no record; the cost is one look-up for each name, and for a subentity's name one look-up in each entity of
  /// the hierarchy. May be called on any thread.
  ///
  /// - Throws: ``ErrorCode/unknownProperty`` for an unknown name; ``ErrorCode/invalidPredicate`` when the path
  ///   continues after an attribute or a to-many relationship, and for an incomplete or nested aggregate;
  ///   ``ErrorCode/invalidFetchRequest`` for an aggregate function without a meaning for the members' values.
  public init(_ path: PropertyPath, from entity: EntityDescription) throws(CoherenceError) {
    steps = []
    target = .identity
    owner = entity
    var names = path.names[...]
    while let first = names.first {
      var name = first
      names = names.dropFirst()
      if owner.isComposite(name) {
        // A part of a composite within a composite has a name of several parts.
        repeat {
          guard let part = names.popFirst() else { break }
          name += "." + part
        } while !owner.has(name)
      }
      if name == "self", names.isEmpty { return }
      switch try owner.visibleProperty(named: name) {
      case let attribute as AttributeDescription:
        target = .attribute(attribute)
      case let relationship as RelationshipDescription where relationship.isToMany:
        target = .toMany(relationship)
        if let next = names.first, let function = AggregateFunction(pathOperator: next) {
          target = .aggregate(
            try MemberAggregate(function, of: relationship, operandNames: Array(names.dropFirst()), in: path))
          return
        }
      case let relationship as RelationshipDescription:
        target = .toOne(relationship)
        guard !names.isEmpty else { return }
        steps.append(relationship)
        owner = relationship.destination
        target = .identity
        continue
      default:
        return
      }
      guard names.isEmpty else {
        throw CoherenceError(
          .invalidPredicate,
          "'\(path)' continues after '\(name)', which is not a to-one relationship; "
            + "only to-one relationships have further names."
        )
      }
    }
  }
}

extension EntityDescription {
  fileprivate func isComposite(_ name: String) -> Bool { hierarchy.contains { $0.composites[name] != nil } }

  /// Whether the entity or a subentity has a property.
  fileprivate func has(_ name: String) -> Bool { hierarchy.contains { $0.propertiesByName[name] != nil } }

  /// The property with a name in the entity or, failing that, in a subentity.
  fileprivate func visibleProperty(named name: String) throws(CoherenceError) -> PropertyDescription {
    if let property = propertiesByName[name] { return property }
    for entity in subentities.flatMap(\.hierarchy) {
      if let property = entity.propertiesByName[name] { return property }
    }
    return try property(named: name)
  }
}
