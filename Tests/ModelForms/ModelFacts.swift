import CoherenceCore

/// The facts that the descriptions of a model have, as texts.
struct ModelFacts: Equatable {
  /// The names of the members of each configuration, with the version identifiers.
  let configurations: [String]
  /// The facts of each entity and its properties, in their order.
  let entities: [String: [String]]

  init(_ model: ManagedObjectModel) {
    configurations =
      model.configurations.sorted().map { name in
        "\(name): \((model.entities(forConfigurationName: name) ?? []).map(\.name).sorted())"
      } + model.versionIdentifiers.sorted()
    entities = Dictionary(uniqueKeysWithValues: model.entities.map { ($0.name, Self.facts(of: $0)) })
  }

  private static func facts(of entity: EntityDescription) -> [String] {
    let head = text([
      entity.objectClass, entity.isAbstract, entity.superentity?.name as Any, entity.formerNames,
      entity.userInfo.sorted { $0.key < $1.key }, entity.versionHash, entity.composites.sorted { $0.key < $1.key },
      entity.uniquenessConstraints.map { $0.map(\.name) }, entity.indexes.map { $0.map(\.name) },
    ])
    return [head] + entity.attributes.map(facts) + entity.relationships.map(facts)
  }

  private static func facts(of attribute: AttributeDescription) -> String {
    var type = "\(attribute.type)"
    // The order of a set's elements differs between two sets.
    if case .enumeration(let raw, let cases) = attribute.type {
      type = "enumeration of \(raw) \((cases ?? []).map { "\($0)" }.sorted())"
    }
    return text([
      attribute.name, type, attribute.isOptional, attribute.defaultValue, attribute.validation, attribute.formerNames,
      attribute.derivation as Any, attribute.userInfo.sorted { $0.key < $1.key }, attribute.slot,
    ])
  }

  private static func facts(of relationship: RelationshipDescription) -> String {
    text([
      relationship.name, relationship.destination.name, relationship.inverse?.name as Any, relationship.isToMany,
      relationship.isOrdered, relationship.isOptional, relationship.deleteRule, relationship.minimumCount,
      relationship.maximumCount as Any, relationship.formerNames, relationship.userInfo.sorted { $0.key < $1.key },
    ])
  }

  private static func text(_ facts: [Any]) -> String { facts.map { "\($0)" }.joined(separator: " | ") }
}
