import CoherenceModelFiles

/// The names and links that the texts of all entities of a model file need.
struct CodePlan {
  let file: ModelFile
  let options: CodeOptions
  /// The name of the model file, for the header of each source.
  let source: String
  private let entities: [String: ModelFile.Entity]
  private let parents: Set<String>

  init(_ file: ModelFile, options: CodeOptions, source: String) {
    self.file = file
    self.options = options
    self.source = source
    entities = Dictionary(file.entities.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    parents = Set(file.entities.compactMap(\.parent))
  }

  func entity(_ name: String) -> ModelFile.Entity? { entities[name] }

  /// Whether another entity inherits from this one.
  func isParent(_ entity: ModelFile.Entity) -> Bool { parents.contains(entity.name) }

  /// The name of the class that objects of the entity have: the name in the file without the module, or the name of the
  /// entity if the file names no class, `NSManagedObject` or `ManagedObject`.
  func className(of entity: ModelFile.Entity) -> String {
    let written = entity.className ?? ""
    let name = String(written.split(separator: ".").last ?? "")
    // A class of the program may have the name in its own module; the names of generated classes are checked.
    let isNone = name.isEmpty || name == "NSManagedObject" || written == "ManagedObject"
    return isNone ? entity.name : name
  }

  /// The class of the objects of an entity by the entity's name.
  func className(of name: String) -> String { entities[name].map(className(of:)) ?? name }

  /// The name of the class with the macro.
  func declaredName(of entity: ModelFile.Entity) -> String {
    options.style == .base ? className(of: entity) + "Base" : className(of: entity)
  }

  /// The name of the structure of a composite attribute; `nil` if the file does not declare the composite.
  func structureName(of attribute: ModelFile.Attribute, in owner: String) -> String? {
    attribute.parts.isEmpty
      ? file.compositeType(of: attribute)?.name : owner + SwiftName.capitalized(attribute.name)
  }

  /// The composites, each with the name of its structure: first the composite types in the file's order, then the
  /// composites that parts of these types and attributes of entities declare inline.
  var structures: [(name: String, parts: [ModelFile.Attribute])] {
    var list = file.composites.map { (name: $0.name, parts: $0.parts) }
    for composite in file.composites {
      addInlineComposites(of: composite.parts, owner: composite.name, into: &list)
    }
    for entity in file.entities {
      addInlineComposites(of: entity.attributes, owner: className(of: entity), into: &list)
    }
    return list
  }

  /// Adds the composites that attributes declare inline, nested ones among them.
  private func addInlineComposites(
    of attributes: [ModelFile.Attribute], owner: String, into list: inout [(name: String, parts: [ModelFile.Attribute])]
  ) {
    for attribute in attributes where !attribute.parts.isEmpty {
      let name = owner + SwiftName.capitalized(attribute.name)
      list.append((name, attribute.parts))
      addInlineComposites(of: attribute.parts, owner: name, into: &list)
    }
  }

  /// The attribute with a name, declared or inherited.
  func attribute(_ name: String, of entity: ModelFile.Entity) -> ModelFile.Attribute? {
    entityAndAncestors(of: entity).lazy.compactMap { $0.attributes.first { $0.name == name } }.first
  }

  /// Whether the entity declares or inherits a relationship.
  func hasRelationship(_ name: String, of entity: ModelFile.Entity) -> Bool {
    entityAndAncestors(of: entity).contains { $0.relationships.contains { $0.name == name } }
  }

  /// The entity and its ancestors. A cycle of parents ends at its first repetition.
  func entityAndAncestors(of entity: ModelFile.Entity) -> [ModelFile.Entity] {
    var result: [ModelFile.Entity] = []
    var next: ModelFile.Entity? = entity
    while let current = next, !result.contains(where: { $0.name == current.name }) {
      result.append(current)
      next = current.parent.flatMap { entities[$0] }
    }
    return result
  }

  /// Whether this side of a relationship names its inverse in a key path. Of two inverse relationships one side does.
  ///
  /// The compiler refuses a cycle of key paths between classes. Therefore the entity with more ancestors names the
  /// inverse, so that a key path leads in the direction of inheritance. With equally many ancestors, the entity whose
  /// name is first in the alphabet does, and within one entity the relationship whose name is first.
  func namesInverse(_ relationship: ModelFile.Relationship, of entity: ModelFile.Entity) -> Bool {
    guard let inverse = relationship.inverse, let destination = entities[relationship.destination],
      let other = entityAndAncestors(of: destination).first(where: { $0.relationships.contains { $0.name == inverse } })
    else { return false }
    let left = (-entityAndAncestors(of: entity).count, entity.name, relationship.name)
    let right = (-entityAndAncestors(of: other).count, other.name, inverse)
    return left <= right
  }
}
