import CoherenceModelFiles

/// Writes the class of an entity.
struct EntityCode {
  let entity: ModelFile.Entity
  let plan: CodePlan

  private var access: String { plan.options.access.prefix }
  /// The class of the objects.
  private var className: String { plan.className(of: entity) }
  /// The class that the generator writes over at each run: the class of the objects, or its base class.
  private var declaredName: String { plan.declaredName(of: entity) }

  /// The lines of the class with the macro, and the sentences about it.
  func declaration() -> CodePart {
    var result = CodePart(warnings: leftOut)
    let attributes = entity.attributes.map {
      AttributeCode(attribute: $0, owner: entity.name, ownerClass: className, plan: plan).variable()
    }
    let relationships = entity.relationships.map {
      RelationshipCode(relationship: $0, entity: entity, plan: plan).variable()
    }
    for part in attributes + relationships {
      result.warnings += part.warnings
      result.faults += part.faults
      result.needsFoundation = result.needsFoundation || part.needsFoundation
    }
    let groups = [uniqueAndIndexLines(&result), attributes.flatMap(\.lines), relationships.flatMap(\.lines)]
      .filter { !$0.isEmpty }
    result.lines = head
    if groups.isEmpty {
      result.lines[result.lines.count - 1] += "}"
    } else {
      result.lines += Array(groups.joined(separator: [""])) + ["}"]
    }
    return result
  }

  // MARK: - The head

  private var head: [String] {
    let parent = entity.parent.map { plan.className(of: $0) } ?? "ManagedObject"
    let isFinal = plan.options.style == .class && !plan.isParent(entity)
    let line = "\(access)\(isFinal ? "final " : "")class \(declaredName): \(parent) {"
    return [summary] + macro + [line]
  }

  private var summary: String {
    plan.options.style == .base
      ? "/// The stored properties of ``\(className)``." : "/// An object of the entity `\(entity.name)`."
  }

  /// The lines of the attribute `@Entity` or `@Subentity`.
  private var macro: [String] {
    var arguments: [SourceLine.Argument] = []
    if declaredName != entity.name { arguments.append(.text(SwiftName.literal(entity.name))) }
    if entity.isAbstract { arguments.append(.text("abstract: true")) }
    let former = plan.file.formerNames(entity.renamingIdentifier, entity.userInfo, at: entity.name)
    arguments += CodeArguments.formerNames(former) + CodeArguments.userInfo(entity.userInfo)
    let name = entity.parent == nil ? "@Entity" : "@Subentity"
    return arguments.isEmpty ? [name] : SourceLine.call(name, arguments, indentation: "")
  }

  // MARK: - Constraints and indexes

  /// The lines of `#Unique` and `#Index`.
  private func uniqueAndIndexLines(_ result: inout CodePart) -> [String] {
    let unique = entity.uniqueness.map { keyPaths(of: $0, "uniqueness constraint", &result) }
    let indexes = entity.indexes.compactMap { index -> String? in
      guard index.elements.allSatisfy({ $0.property != nil && $0.kind == "Binary" }) else {
        result.warnings.append(
          "The index '\(index.name)' of '\(entity.name)' is left out: an index is a list of properties.")
        return nil
      }
      if index.elements.contains(where: { !$0.isAscending }) {
        result.warnings.append(
          "The index '\(index.name)' of '\(entity.name)' is ascending: the framework has no descending indexes.")
      }
      return keyPaths(of: index.elements.compactMap(\.property), "index", &result)
    }
    return call("#Unique", unique.compactMap { $0 }) + call("#Index", indexes)
  }

  private func call(_ macro: String, _ lists: [String]) -> [String] {
    if lists.isEmpty { return [] }
    return SourceLine.call("\(macro)<\(declaredName)>", lists.map { .text($0) }, indentation: "  ")
  }

  /// The array of the key paths of properties; `nil` without any. Adds a fault for a name without a property.
  private func keyPaths(of names: [String], _ use: String, _ result: inout CodePart) -> String? {
    var paths: [String] = []
    for name in names {
      guard let path = keyPath(name) else {
        result.faults.append("A \(use) of '\(entity.name)' names '\(name)', which is not a property of the entity.")
        continue
      }
      paths.append(path)
    }
    return paths.isEmpty ? nil : "[\(paths.joined(separator: ", "))]"
  }

  /// The key path of a property, or of a part of a composite such as `size.width`.
  private func keyPath(_ name: String) -> String? {
    if plan.hasRelationship(name, of: entity) { return "\\.\(SwiftName.escaped(name))" }
    let names = name.split(separator: ".").map(String.init)
    guard let first = names.first, var attribute = plan.attribute(first, of: entity) else { return nil }
    var path = "\\.\(SwiftName.escaped(first))"
    for part in names.dropFirst() {
      guard let next = plan.file.parts(of: attribute)?.first(where: { $0.name == part }) else { return nil }
      path += "\(attribute.isOptional ? "?" : "").\(SwiftName.escaped(part))"
      attribute = next
    }
    return path
  }

  // MARK: - Parts without a counterpart

  private var leftOut: [String] {
    entity.fetchedProperties.map {
      "The fetched property '\($0.name)' of '\(entity.name)' is left out: fetch the records with a request."
    }
  }

  // MARK: - The class of the program

  /// The lines of the class that inherits from the base class, for the file that the program owns.
  ///
  /// The macro stands at the base class, and writes the base class into the declaration and the key paths. Objects have
  /// this class, and a key path of this class differs from the key path of the base class; so the class overrides both.
  var subclass: [String] {
    let isFinal = !plan.isParent(entity)
    let member = "  \(access)override class var"
    let names = "\(member) propertyNames: [AnyKeyPath: String] {"
    let call = "propertyNames(from: \(className).self)"
    let whole = "\(names) \(call) }"
    return [
      "/// An object of the entity `\(entity.name)`.",
      "\(access)\(isFinal ? "final " : "")class \(className): \(declaredName) {",
      "\(member) entityDeclaration: Entity {",
      "    var declaration = super.entityDeclaration",
      "    declaration.objectClass = \(className).self",
      "    return declaration",
      "  }",
      "",
    ] + (whole.count <= SourceLine.width ? [whole] : [names, "    \(call)", "  }"]) + ["}"]
  }
}
