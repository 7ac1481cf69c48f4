import CoherenceCore

/// Makes Core's declarations from the parts of a file, and collects faults and the omitted parts.
struct DeclarationBuilder {
  let file: ModelFile
  var faults: [String] = []
  var warnings: [String] = []
  /// The entities without a class because of a fault.
  private var unresolved: Set<String> = []

  init(_ file: ModelFile) { self.file = file }

  /// The declarations of all entities.
  mutating func entities(classes: EntityClasses) -> [Entity] {
    let entities = file.entities.map { entity(of: $0, classes: classes) }
    checkClasses(of: entities)
    return entities
  }

  /// Finds subentities whose class does not inherit from the class of the parent. Typed requests for the parent return
  /// the objects of its subentities too.
  private mutating func checkClasses(of entities: [Entity]) {
    let classes = Dictionary(entities.map { ($0.name, $0.objectClass) }, uniquingKeysWith: { first, _ in first })
    for entity in entities where !unresolved.contains(entity.name) {
      // A parent without a class of its own is a `ManagedObject`, from which every class inherits.
      guard let name = entity.parent, let parent = classes[name], !Self.inherits(entity.objectClass, parent) else {
        continue
      }
      faults.append(
        "Entity \(located(entity.name)) has the class '\(entity.objectClass)', which does not inherit from "
          + "'\(parent)', the class of its parent '\(name)'.")
    }
  }

  private static func inherits(_ objectClass: ManagedObject.Type, _ parent: ManagedObject.Type) -> Bool {
    sequence(first: objectClass as AnyClass) { _getSuperclass($0) }.contains { $0 == parent }
  }

  private mutating func entity(of part: ModelFile.Entity, classes: EntityClasses) -> Entity {
    var declaration = Entity(
      part.name, parent: part.parent, isAbstract: part.isAbstract, uniqueness: part.uniqueness,
      userInfo: FileSetting.withoutSettings(part.userInfo))
    switch classes.objectClass(of: part) {
    case .success(let objectClass): declaration.objectClass = objectClass
    case .failure(let fault):
      faults.append("Entity \(located(part.name)) \(fault.reason).")
      unresolved.insert(part.name)
    }
    declaration.formerNames = file.formerNames(part.renamingIdentifier, part.userInfo, at: part.name)
    for attribute in part.attributes {
      declaration.properties += properties(of: attribute, in: part.name)
      if attribute.otherAttributes["indexed"] == "YES" { declaration.indexes.append([attribute.name]) }
    }
    for relationship in part.relationships {
      if let made = self.relationship(of: relationship, in: part.name) { declaration.properties.append(made) }
    }
    declaration.indexes += part.indexes.compactMap { index(of: $0, in: part.name) }
    declaration.properties += part.fetchedProperties.compactMap { fetchedProperty(of: $0, in: part.name) }
    checkRenaming(part)
    let title = "Entity '\(part.name)'"
    report(part.otherAttributes, part.otherElements, of: title)
    report(part.uniquenessSource?.elements, of: title)
    report(part.userInfoSource?.elements, of: title)
    return declaration
  }

  /// The name of a part, with its line.
  func located(_ name: String) -> String {
    guard let line = file.source.lines[name] else { return "'\(name)'" }
    return "'\(name)' (line \(line))"
  }

  /// Finds two properties of an entity with one renaming identifier.
  private mutating func checkRenaming(_ part: ModelFile.Entity) {
    var seen: [String: String] = [:]
    let named =
      part.attributes.map { ($0.name, $0.renamingIdentifier) }
      + part.relationships.map { ($0.name, $0.renamingIdentifier) }
    for case let (name, identifier?) in named {
      if let other = seen[identifier] {
        faults.append(
          "\(located("\(part.name).\(name)")) and '\(part.name).\(other)' have the same renaming identifier "
            + "'\(identifier)'.")
      }
      seen[identifier] = name
    }
  }

  /// The property names of an index; none and a warning for an index that stores do not have.
  private mutating func index(of index: ModelFile.FetchIndex, in owner: String) -> [String]? {
    let path = "Index '\(index.name)' of '\(owner)'"
    report(index.otherAttributes, index.otherElements, of: path)
    for element in index.elements {
      let title = "\(path): the element '\(element.property ?? element.expression ?? "")'"
      report(element.otherAttributes, element.otherElements, of: title)
    }
    if let special = index.elements.first(where: { $0.kind != "Binary" }) {
      warnings.append("\(path) is left out: stores have no indexes of kind '\(special.kind)'.")
      return nil
    }
    let names = index.elements.compactMap(\.property)
    guard names.count == index.elements.count else {
      warnings.append("\(path) is left out: stores have no indexes of expressions.")
      return nil
    }
    guard !names.isEmpty else {
      warnings.append("\(path) is left out: it names no property.")
      return nil
    }
    if Set(index.elements.map(\.isAscending)).count > 1 {
      warnings.append("\(path) has all properties in ascending order.")
    }
    return names
  }
}
