/// Finds all faults of the declarations of a model.
struct ModelValidation {
  let entities: [Entity]
  let byName: [String: Entity]
  private let configurations: [String: [String]]

  init(_ entities: [Entity], configurations: [String: [String]]) {
    self.entities = entities
    self.byName = Dictionary(entities.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    self.configurations = configurations
  }

  /// A sentence for each fault. A fault of an ancestor is reported once, not for each descendant.
  var faults: [String] {
    let faults =
      nameFaults + formerNameFaults + hierarchyFaults + entities.flatMap(propertyFaults)
      + entities.flatMap(derivedFaults)
      + entities.flatMap(relationshipFaults) + entities.flatMap(constraintFaults) + configurationFaults
    var seen: Set<String> = []
    return faults.filter { seen.insert($0).inserted }
  }

  private var nameFaults: [String] {
    var faults: [String] = []
    var seen: Set<String> = []
    for entity in entities {
      if entity.name.isEmpty { faults.append("An entity has no name.") }
      if entity.name.utf8.contains(0) { faults.append("An entity's name contains U+0000.") }
      if !seen.insert(entity.name).inserted { faults.append("Two entities are named '\(entity.name)'.") }
    }
    return faults
  }

  /// Finds former names of two entities, and former names that the model still has as the name of an entity.
  private var formerNameFaults: [String] {
    var faults: [String] = []
    var seen: Set<String> = []
    for (entity, former) in entities.flatMap({ entity in entity.formerNames.map { (entity, $0) } }) {
      if former.isEmpty { faults.append("The renaming identifier of '\(entity.name)' is empty.") }
      if former != entity.name, byName[former] != nil {
        faults.append("'\(entity.name)' is renamed from '\(former)', which the model still has.")
      }
      if !seen.insert(former).inserted { faults.append("Two entities are renamed from '\(former)'.") }
    }
    return faults
  }

  private var hierarchyFaults: [String] {
    var faults: [String] = []
    for entity in entities {
      var visited: Set<String> = [entity.name]
      var current = entity
      while let parent = current.parent {
        guard let next = byName[parent] else {
          if current.name == entity.name {
            faults.append(
              "Entity '\(entity.name)' inherits from '\(parent)', which the model does not have; "
                + "add the entity or its class.")
          }
          break
        }
        guard visited.insert(parent).inserted else {
          faults.append("Entity '\(entity.name)' inherits from itself.")
          break
        }
        current = next
      }
    }
    return faults
  }

  /// The properties of the entity's ancestors and of the entity, in order of inheritance. Stops at a cycle of
  /// inheritance.
  func allProperties(_ entity: Entity) -> [any PropertyDeclaration] {
    var visited: Set<String> = []
    var generations: [[any PropertyDeclaration]] = []
    var current: Entity? = entity
    while let next = current, visited.insert(next.name).inserted {
      generations.append(next.properties)
      current = next.parent.flatMap { byName[$0] }
    }
    return generations.reversed().flatMap(\.self)
  }

  private func names(_ entity: Entity) -> [String] {
    allProperties(entity).flatMap { property in
      (property as? CompositeAttribute)?.parts.map { "\(property.name).\($0.name)" } ?? [property.name]
    }
  }

  /// Finds former names of two properties, and former names that the entity still has as the name of a property.
  private func renamingFaults(_ entity: Entity) -> [String] {
    let declared = Set(names(entity))
    var faults: [String] = []
    var seen: Set<String> = []
    for (name, former) in entity.properties.flatMap(formerNames) {
      let path = "'\(entity.name).\(name)'"
      if former.isEmpty { faults.append("The renaming identifier of \(path) is empty.") }
      if former != name, declared.contains(former) {
        faults.append("\(path) is renamed from '\(former)', which the entity still has.")
      }
      if !seen.insert(former).inserted {
        faults.append("Two properties of '\(entity.name)' are renamed from '\(former)'.")
      }
    }
    return faults
  }

  /// Each former name of a property, or of a composite's parts, with the present name.
  private func formerNames(_ property: any PropertyDeclaration) -> [(name: String, former: String)] {
    switch property {
    case let attribute as Attribute: attribute.formerNames.map { (attribute.name, $0) }
    case let relationship as Relationship: relationship.formerNames.map { (relationship.name, $0) }
    case let composite as CompositeAttribute:
      composite.parts.flatMap { part in part.formerNames.map { ("\(composite.name).\(part.name)", $0) } }
    default: []
    }
  }

  private func propertyFaults(_ entity: Entity) -> [String] {
    var faults: [String] = []
    var seen: Set<String> = []
    for property in allProperties(entity) {
      if property.name.isEmpty { faults.append("A property of '\(entity.name)' has no name.") }
      if property.name.utf8.contains(0) { faults.append("A property's name of '\(entity.name)' contains U+0000.") }
      if !seen.insert(property.name).inserted {
        faults.append("Entity '\(entity.name)' has two properties named '\(property.name)'.")
      }
    }
    for case let composite as CompositeAttribute in allProperties(entity) {
      for part in Set(composite.parts.map { "\(composite.name).\($0.name)" }).sorted()
      where !seen.insert(part).inserted {
        faults.append("Entity '\(entity.name)' has a part of a composite and another property named '\(part)'.")
      }
    }
    faults += renamingFaults(entity)
    for property in entity.properties {
      if let attribute = property as? Attribute { faults += attributeFaults(attribute, in: entity) }
      if let computed = property as? any ComputedPropertyDeclaration {
        faults += computed.faults(in: entity, among: byName)
      }
      if let composite = property as? CompositeAttribute {
        if composite.parts.isEmpty { faults.append("Composite '\(entity.name).\(composite.name)' has no parts.") }
        if Set(composite.parts.map(\.name)).count != composite.parts.count {
          faults.append("Composite '\(entity.name).\(composite.name)' has two parts with the same name.")
        }
        faults += composite.parts.flatMap { attributeFaults($0, in: entity) }
      }
    }
    return faults
  }

  private func attributeFaults(_ attribute: Attribute, in entity: Entity) -> [String] {
    let path = "'\(entity.name).\(attribute.name)'"
    var faults: [String] = []
    for case .pattern(let pattern) in attribute.validation where (try? TextPattern(pattern, [])) == nil {
      faults.append("The pattern of \(path) is not a valid regular expression.")
    }
    if case .weakReference(let target?) = attribute.type, !entities.contains(where: { $0.name == target }) {
      faults.append("The weak reference \(path) leads to '\(target)', which the model does not have.")
    }
    guard !attribute.defaultValue.isNull else { return faults }
    do {
      _ = try attribute.type.checked(attribute.defaultValue)
    } catch {
      faults.append("The default of \(path) does not fit its type: \(error.message)")
    }
    return faults
  }

  private func relationshipFaults(_ entity: Entity) -> [String] {
    entity.properties.compactMap { $0 as? Relationship }.flatMap { relationship -> [String] in
      let path = "'\(entity.name).\(relationship.name)'"
      return countFaults(relationship, path) + inverseFaults(relationship, path, of: entity)
    }
  }

  /// Finds bounds that no number of members can satisfy.
  private func countFaults(_ relationship: Relationship, _ path: String) -> [String] {
    if relationship.minimumCount < 0 || relationship.maximumCount.map({ $0 < 0 }) == true {
      return ["Relationship \(path) asks for a negative number of members."]
    }
    guard let maximum = relationship.maximumCount, maximum < relationship.minimumCount else { return [] }
    return ["Relationship \(path) asks for at least \(relationship.minimumCount) and at most \(maximum) members."]
  }

  private func inverseFaults(_ relationship: Relationship, _ path: String, of entity: Entity) -> [String] {
    guard let destination = byName[relationship.destination] else {
      return [
        "Relationship \(path) leads to '\(relationship.destination)', which the model does not have; "
          + "add the entity or its class."
      ]
    }
    guard let inverseName = relationship.inverse else { return [] }
    let candidate = allProperties(destination).first { $0.name == inverseName }
    guard let inverse = candidate as? Relationship else {
      return ["The inverse of \(path), '\(destination.name).\(inverseName)', is not a relationship of the model."]
    }
    guard declares(destination.name, inverseName) else {
      return ["The inverse of \(path) is inherited; name the entity that declares it as the destination."]
    }
    guard inverse.inverse == relationship.name, inverse.destination == entity.name else {
      let reason = mismatch(of: inverse, with: entity)
      return ["The inverse of \(path), '\(destination.name).\(inverseName)', does not point back: \(reason)."]
    }
    return []
  }

  /// The reason why the named inverse of a relationship of an entity has another inverse.
  private func mismatch(of inverse: Relationship, with entity: Entity) -> String {
    if inverse.destination != entity.name { return "it leads to '\(inverse.destination)'" }
    guard let name = inverse.inverse else { return "it has no inverse" }
    return "its inverse is '\(inverse.destination).\(name)'"
  }

  private func declares(_ entity: String, _ property: String) -> Bool {
    byName[entity]!.properties.contains { $0.name == property }
  }

  private func constraintFaults(_ entity: Entity) -> [String] {
    let known = Set(names(entity))
    return (entity.uniqueness + entity.indexes).flatMap { list -> [String] in
      guard !list.isEmpty else { return ["A constraint or index of '\(entity.name)' names no property."] }
      return list.compactMap { name in
        if !known.contains(name) { return "A constraint or index of '\(entity.name)' names the unknown '\(name)'." }
        let relationship = allProperties(entity).first { $0.name == name } as? Relationship
        return relationship?.isToMany == true
          ? "A constraint or index of '\(entity.name)' names the to-many relationship '\(name)'." : nil
      }
    }
  }

  private var configurationFaults: [String] {
    configurations.sorted { $0.key < $1.key }.flatMap { name, members in
      members.filter { byName[$0] == nil }.map { "Configuration '\(name)' names the unknown entity '\($0)'." }
    }
  }
}
