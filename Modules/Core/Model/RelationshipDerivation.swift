import Foundation

/// A derived attribute whose value depends on other records, resolved in a model.
///
/// **Computation.** A save computes the value in its transaction, after its writes, from the records in the store at
/// that time. When two processes add a member each to the same owner, the later value counts both members: the store
/// locks the owner, or compares its version, before it reads the members.
///
/// **The owner's version.** A new value makes a new version of the owner's row, so that other contexts, caches and
/// processes notice the value as they notice any change. A new value is not an edit: if a save of the owner meets a
/// newer row that differs only in derived values, the save is applied to the newer row under every merge policy. For
/// example, an edit of an album's title never conflicts with the addition of a track.
public struct RelationshipDerivation: Sendable, Hashable {
  /// The rule, with the descriptions that its path names.
  public enum Rule: Sendable, Hashable {
    /// The value of an attribute of the record at the end of one or more to-one relationships.
    case path([RelationshipDescription], AttributeDescription)
    /// The number of members of a to-many relationship.
    case count(RelationshipDescription)
    /// A value computed from an attribute of the members of a to-many relationship.
    case members(Function, RelationshipDescription, AttributeDescription)
  }

  /// A function of the values of members. Missing values do not take part.
  public enum Function: String, Sendable, Hashable {
    /// The sum; zero without values.
    case sum
    /// The least value; missing without values.
    case minimum
    /// The greatest value; missing without values.
    case maximum
    /// The sum divided by the number of values; missing without values.
    case average
  }

  /// The derived attribute. The records of its entity and of the subentities are the owners of the values.
  public let attribute: AttributeDescription
  /// The rule.
  public let rule: Rule

  /// - Returns: `nil` for an attribute whose rule reads no other records.
  init?(_ attribute: AttributeDescription) {
    guard let derivation = attribute.derivation, let path = derivation.relationshipPath,
      let rule = Rule(derivation, path.pathNames[...], from: attribute.entity)
    else { return nil }
    self.attribute = attribute
    self.rule = rule
  }

  /// The relationships from the owner to the records from which the value is computed.
  public var relationships: [RelationshipDescription] {
    switch rule {
    case .path(let steps, _): steps
    case .count(let relationship), .members(_, let relationship, _): [relationship]
    }
  }

  /// The value of an owner without members, or without a target.
  static func initialValue(_ attribute: AttributeDescription) -> AttributeValue {
    switch attribute.derivation {
    case .count: .int(0)
    case .sum:
      switch attribute.type.storage {
      case .double: .double(0)
      case .decimal: .decimal(0)
      default: .int(0)
      }
    default: .null
    }
  }
}

extension AttributeDescription {
  /// The resolved derivation from other records; `nil` for an attribute without such a derivation. Each call resolves
  /// the path again.
  public var relationshipDerivation: RelationshipDerivation? { RelationshipDerivation(self) }
}

extension RelationshipDerivation.Rule {
  fileprivate init?(_ derivation: Derivation, _ names: ArraySlice<String>, from entity: EntityDescription) {
    var (names, entity) = (names, entity)
    var steps: [RelationshipDescription] = []
    while let name = names.first, let relationship = entity.relationships.first(where: { $0.name == name }) {
      steps.append(relationship)
      entity = relationship.destination
      names = names.dropFirst()
      if relationship.isToMany { break }
    }
    guard let last = steps.last else { return nil }
    if case .count = derivation {
      self = .count(last)
      return
    }
    guard let attribute = entity.attribute(named: names.joined(separator: ".")) else { return nil }
    switch derivation {
    case .path: self = .path(steps, attribute)
    case .sum: self = .members(.sum, last, attribute)
    case .minimum: self = .members(.minimum, last, attribute)
    case .maximum: self = .members(.maximum, last, attribute)
    case .average: self = .members(.average, last, attribute)
    case .canonical, .lowercase, .uppercase, .now, .author, .count: return nil
    }
  }
}
