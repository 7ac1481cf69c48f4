/// Finds all problems of the declarations of a model.
struct ModelValidation {
  let entities: [Entity]
  let byName: [String: Entity]
  private let configurations: [String: [String]]

  init(_ entities: [Entity], configurations: [String: [String]]) {
    self.entities = entities
    self.byName = Dictionary(entities.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    self.configurations = configurations
  }

  /// A sentence for each problem. A problem of an ancestor is reported once, not for each descendant.
  var problems: [String] {
    let problems =
      nameProblems + formerNameProblems + hierarchyProblems + entities.flatMap(propertyProblems)
      + entities.flatMap(derivedProblems)
      + entities.flatMap(relationshipProblems) + entities.flatMap(constraintProblems) + configurationProblems
    var seen: Set<String> = []
    return problems.filter { seen.insert($0).inserted }
  }

  private var nameProblems: [String] {
    var problems: [String] = []
    var seen: Set<String> = []
    for entity in entities {
      if entity.name.isEmpty { problems.append("An entity has no name.") }
      if entity.name.utf8.contains(0) { problems.append("An entity's name contains U+0000.") }
      if !seen.insert(entity.name).inserted { problems.append("Two entities are named '\(entity.name)'.") }
    }
    return problems
  }

  /// Finds former names of two entities, and former names that the model still has as the name of an entity.
  private var formerNameProblems: [String] {
    var problems: [String] = []
    var seen: Set<String> = []
    for (entity, former) in entities.flatMap({ entity in entity.formerNames.map { (entity, $0) } }) {
      if former.isEmpty { problems.append("The renaming identifier of '\(entity.name)' is empty.") }
      if former != entity.name, byName[former] != nil {
        problems.append("'\(entity.name)' is renamed from '\(former)', which the model still has.")
      }
      if !seen.insert(former).inserted { problems.append("Two entities are renamed from '\(former)'.") }
    }
    return problems
  }

  private var hierarchyProblems: [String] {
    var problems: [String] = []
    for entity in entities {
      var visited: Set<String> = [entity.name]
      var current = entity
      while let parent = current.parent {
        guard let next = byName[parent] else {
          if current.name == entity.name {
            problems.append(
              "Entity '\(entity.name)' inherits from '\(parent)', which the model does not have; "
                + "add the entity or its class.")
          }
          break
        }
        guard visited.insert(parent).inserted else {
          problems.append("Entity '\(entity.name)' inherits from itself.")
          break
        }
        current = next
      }
    }
    return problems
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
  private func renamingProblems(_ entity: Entity) -> [String] {
    let declared = Set(names(entity))
    var problems: [String] = []
    var seen: Set<String> = []
    for (name, former) in entity.properties.flatMap(formerNames) {
      let path = "'\(entity.name).\(name)'"
      if former.isEmpty { problems.append("The renaming identifier of \(path) is empty.") }
      if former != name, declared.contains(former) {
        problems.append("\(path) is renamed from '\(former)', which the entity still has.")
      }
      if !seen.insert(former).inserted {
        problems.append("Two properties of '\(entity.name)' are renamed from '\(former)'.")
      }
    }
    return problems
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

  private func propertyProblems(_ entity: Entity) -> [String] {
    var problems: [String] = []
    var seen: Set<String> = []
    for property in allProperties(entity) {
      if property.name.isEmpty { problems.append("A property of '\(entity.name)' has no name.") }
      if property.name.utf8.contains(0) { problems.append("A property's name of '\(entity.name)' contains U+0000.") }
      if !seen.insert(property.name).inserted {
        problems.append("Entity '\(entity.name)' has two properties named '\(property.name)'.")
      }
    }
    for case let composite as CompositeAttribute in allProperties(entity) {
      for part in Set(composite.parts.map { "\(composite.name).\($0.name)" }).sorted()
      where !seen.insert(part).inserted {
        problems.append("Entity '\(entity.name)' has a part of a composite and another property named '\(part)'.")
      }
    }
    problems += renamingProblems(entity)
    for property in entity.properties {
      if let attribute = property as? Attribute { problems += attributeProblems(attribute, in: entity) }
      if let computed = property as? any ComputedPropertyDeclaration {
        problems += computed.problems(in: entity, among: byName)
      }
      if let composite = property as? CompositeAttribute {
        if composite.parts.isEmpty { problems.append("Composite '\(entity.name).\(composite.name)' has no parts.") }
        if Set(composite.parts.map(\.name)).count != composite.parts.count {
          problems.append("Composite '\(entity.name).\(composite.name)' has two parts with the same name.")
        }
        problems += composite.parts.flatMap { attributeProblems($0, in: entity) }
      }
    }
    return problems
  }

  private func attributeProblems(_ attribute: Attribute, in entity: Entity) -> [String] {
    let path = "'\(entity.name).\(attribute.name)'"
    var problems: [String] = []
    for case .pattern(let pattern) in attribute.validation where (try? TextPattern(pattern, [])) == nil {
      problems.append("The pattern of \(path) is not a valid regular expression.")
    }
    problems += ruleProblems(attribute, path)
    if case .weakReference(let target?) = attribute.type, !entities.contains(where: { $0.name == target }) {
      problems.append("The weak reference \(path) leads to '\(target)', which the model does not have.")
    }
    guard !attribute.defaultValue.isNull else { return problems }
    do {
      _ = try attribute.type.checked(attribute.defaultValue)
    } catch {
      problems.append("The default of \(path) does not fit its type: \(error.message)")
    }
    return problems
  }

  private func relationshipProblems(_ entity: Entity) -> [String] {
    entity.properties.compactMap { $0 as? Relationship }.flatMap { relationship -> [String] in
      let path = "'\(entity.name).\(relationship.name)'"
      return countProblems(relationship, path) + inverseProblems(relationship, path, of: entity)
    }
  }

  /// Finds bounds that no number of members can satisfy.
  private func countProblems(_ relationship: Relationship, _ path: String) -> [String] {
    if relationship.minimumCount < 0 || relationship.maximumCount.map({ $0 < 0 }) == true {
      return ["Relationship \(path) asks for a negative number of members."]
    }
    guard let maximum = relationship.maximumCount, maximum < relationship.minimumCount else { return [] }
    return ["Relationship \(path) asks for at least \(relationship.minimumCount) and at most \(maximum) members."]
  }

  private func inverseProblems(_ relationship: Relationship, _ path: String, of entity: Entity) -> [String] {
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

  private func constraintProblems(_ entity: Entity) -> [String] {
    let declared = Set(names(entity))
    return (entity.uniqueness + entity.indexes).flatMap { list -> [String] in
      guard !list.isEmpty else { return ["A constraint or index of '\(entity.name)' names no property."] }
      return list.compactMap { name in
        if !declared.contains(name) { return "A constraint or index of '\(entity.name)' names the unknown '\(name)'." }
        let relationship = allProperties(entity).first { $0.name == name } as? Relationship
        return relationship?.isToMany == true
          ? "A constraint or index of '\(entity.name)' names the to-many relationship '\(name)'." : nil
      }
    }
  }

  private var configurationProblems: [String] {
    configurations.sorted { $0.key < $1.key }.flatMap { name, members in
      members.filter { byName[$0] == nil }.map { "Configuration '\(name)' names the unknown entity '\($0)'." }
    }
  }
}
