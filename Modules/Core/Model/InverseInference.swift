/// Infers the inverses that a declaration leaves to the model.
///
/// The inverse of a relationship is the relationship that names it as its inverse. Of the relationships that no other
/// relationship names, two are paired if each of them is the only such relationship that leads back to the other's
/// entity.
struct InverseInference {
  /// A relationship by the names of its entity and of itself.
  private struct Side: Hashable {
    let entity: String
    let name: String
    var path: String { "'\(entity).\(name)'" }
  }

  /// The declarations, with the inferred inverses.
  private(set) var entities: [Entity]
  /// A sentence for each relationship whose inverse may be several relationships.
  private(set) var problems: [String] = []

  init(_ declarations: [Entity]) {
    entities = declarations
    assignNamed()
    assignPairs()
  }

  // MARK: Inverses that the other side names

  private mutating func assignNamed() {
    let namers = Self.namers(in: entities)
    for unpaired in unpairedRelationships() {
      let candidates = namers[unpaired.side, default: []].filter { $0.entity == unpaired.destination }
      guard let first = candidates.first else { continue }
      if candidates.count > 1 {
        let names = candidates.map(\.path).joined(separator: " and ")
        problems.append(
          "\(names) name the same inverse, \(unpaired.side.path); a relationship can be the inverse of only one.")
      }
      assign(first.name, to: unpaired)
    }
  }

  /// The relationships that name each relationship as their inverse, in order of declaration.
  private static func namers(in declarations: [Entity]) -> [Side: [Side]] {
    var namers: [Side: [Side]] = [:]
    for entity in declarations {
      for case let relationship as Relationship in entity.properties {
        guard let inverse = relationship.inverse else { continue }
        namers[Side(entity: relationship.destination, name: inverse), default: []]
          .append(Side(entity: entity.name, name: relationship.name))
      }
    }
    return namers
  }

  // MARK: Relationships without an inverse so far

  /// A relationship that leaves its inverse to the model and has none yet.
  private struct UnpairedRelationship {
    let side: Side
    let destination: String
    let isToMany: Bool
    /// The indices of the entity and of the property.
    let entity: Int
    let property: Int

    /// Whether the relationship connects records of one entity.
    var isReflexive: Bool { side.entity == destination }
  }

  /// The entities that a relationship connects.
  private struct Ends: Hashable {
    let from: String
    let to: String
  }

  private func unpairedRelationships() -> [UnpairedRelationship] {
    entities.enumerated().flatMap { index, entity in
      entity.properties.enumerated().compactMap { propertyIndex, property in
        guard let relationship = property as? Relationship, relationship.infersInverse, relationship.inverse == nil
        else { return nil }
        return UnpairedRelationship(
          side: Side(entity: entity.name, name: relationship.name), destination: relationship.destination,
          isToMany: relationship.isToMany, entity: index, property: propertyIndex)
      }
    }
  }

  private mutating func assign(_ inverse: String, to unpaired: UnpairedRelationship) {
    guard var relationship = entities[unpaired.entity].properties[unpaired.property] as? Relationship else { return }
    relationship.inverse = inverse
    entities[unpaired.entity].properties[unpaired.property] = relationship
  }

  // MARK: Inverses that neither side names

  private mutating func assignPairs() {
    let unpaired = unpairedRelationships()
    let unpairedByEnds = Dictionary(grouping: unpaired) { Ends(from: $0.side.entity, to: $0.destination) }
    for relationship in unpaired {
      let leadingBack = unpairedByEnds[Ends(from: relationship.destination, to: relationship.side.entity), default: []]
      // Of two references of an entity to itself, neither need be the inverse of the other: a mother and a father.
      let candidates =
        relationship.isReflexive ? leadingBack.filter { $0.isToMany != relationship.isToMany } : leadingBack
      guard let inverse = candidates.first else { continue }
      if candidates.count > 1 {
        let names = candidates.map(\.side.path).joined(separator: " or ")
        problems.append(
          "The inverse of \(relationship.side.path) may be \(names); name one of them as the inverse, or declare "
            + "'inverse: nil'."
        )
      }
      assign(inverse.side.name, to: relationship)
    }
  }
}
