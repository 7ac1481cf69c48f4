/// Infers the inverses that only the other side of a relationship declares.
struct InverseInference {
  /// A relationship by the names of its entity and of itself.
  private struct Side: Hashable {
    let entity: String
    let name: String
    var path: String { "'\(entity).\(name)'" }
  }

  /// The declarations, with the inferred inverses.
  private(set) var entities: [Entity]
  /// A sentence for each relationship that several relationships name as their inverse.
  private(set) var faults: [String] = []

  init(_ declarations: [Entity]) {
    entities = declarations
    let claims = Self.claims(declarations)
    for (index, entity) in declarations.enumerated() {
      for (place, property) in entity.properties.enumerated() {
        guard var relationship = property as? Relationship, relationship.infersInverse, relationship.inverse == nil
        else { continue }
        let side = Side(entity: entity.name, name: relationship.name)
        let claimants = claims[side, default: []].filter { $0.entity == relationship.destination }
        guard let first = claimants.first else { continue }
        if claimants.count > 1 {
          let names = claimants.map(\.path).joined(separator: " and ")
          faults.append("\(names) name the same inverse, \(side.path); a relationship can be the inverse of only one.")
        }
        relationship.inverse = first.name
        entities[index].properties[place] = relationship
      }
    }
  }

  /// The relationships that name each relationship as their inverse, in order of declaration.
  private static func claims(_ declarations: [Entity]) -> [Side: [Side]] {
    var claims: [Side: [Side]] = [:]
    for entity in declarations {
      for case let relationship as Relationship in entity.properties {
        guard let inverse = relationship.inverse else { continue }
        claims[Side(entity: relationship.destination, name: inverse), default: []]
          .append(Side(entity: entity.name, name: relationship.name))
      }
    }
    return claims
  }
}
