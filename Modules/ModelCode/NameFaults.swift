import CoherenceModelFiles

/// Finds names of a model file that no Swift source can have.
struct NameFaults {
  let plan: CodePlan

  /// A sentence for each fault, in the file's order.
  var sentences: [String] {
    plan.file.entities.flatMap { classFaults($0) + propertyFaults($0) } + structureFaults + repeatedTypes
  }

  private func classFaults(_ entity: ModelFile.Entity) -> [String] {
    let name = plan.className(of: entity)
    let advice = "give the entity '\(entity.name)' another class in the model file."
    if !SwiftName.isIdentifier(name) || SwiftName.keywords.contains(name) || SwiftName.unusable.contains(name) {
      return ["'\(name)' cannot be the name of a class; \(advice)"]
    }
    if SwiftName.types.contains(name) {
      return ["A class '\(name)' would hide the type of that name, which generated sources use; \(advice)"]
    }
    if SwiftName.nestedTypes.contains(name) {
      return ["A type '\(name)' that the macros write would hide the class; \(advice)"]
    }
    if let parent = entity.parent, plan.entity(parent) == nil {
      return ["The parent '\(parent)' of '\(entity.name)' is not an entity of the model file; correct the name."]
    }
    // An entity without a parent, a missing entity or a repetition ends the list. Only this entity's repetition is a
    // fault of this entity.
    if plan.entityAndAncestors(of: entity).last?.parent == entity.name {
      return ["The entity '\(entity.name)' is its own ancestor."]
    }
    return []
  }

  private func propertyFaults(_ entity: ModelFile.Entity) -> [String] {
    let names = entity.attributes.map(\.name) + entity.relationships.map(\.name)
    let repeated = duplicates(in: names).map { "The entity '\(entity.name)' has two properties '\($0)'; rename one." }
    return repeated + names.compactMap { fault($0, of: entity) }
  }

  /// The reason why a property cannot have a name; `nil` for a valid name.
  private func fault(_ name: String, of entity: ModelFile.Entity) -> String? {
    let advice =
      "rename '\(name)' of '\(entity.name)' in the model file, with the present name as its renaming identifier."
    if !SwiftName.isIdentifier(name) || SwiftName.unusable.contains(name) {
      return "'\(name)' cannot be the name of a variable; \(advice)"
    }
    if SwiftName.members.contains(name) { return "Every managed object has a member '\(name)'; \(advice)" }
    if entity.parent != nil, SwiftName.subentityMembers.contains(name) {
      return "Every snapshot of an entity with a parent has a member '\(name)'; \(advice)"
    }
    return nil
  }

  private var structureFaults: [String] {
    plan.structures.flatMap { structure -> [String] in
      let parts = structure.parts.map(\.name)
      let names = parts.filter { !SwiftName.isIdentifier($0) || SwiftName.unusable.contains($0) }
        .map { "'\($0)' cannot be the name of a variable; rename the part of the composite '\(structure.name)'." }
      let repeated = duplicates(in: parts).map {
        "The composite '\(structure.name)' has two parts '\($0)'; rename one."
      }
      let isType =
        SwiftName.isIdentifier(structure.name) && !SwiftName.types.contains(structure.name)
        && !SwiftName.nestedTypes.contains(structure.name)
        && !SwiftName.keywords.contains(structure.name) && !SwiftName.unusable.contains(structure.name)
      return (isType ? [] : ["'\(structure.name)' cannot be the name of a structure; rename the composite."])
        + names + repeated
    }
  }

  /// Two types of one name. Names that differ in the case of letters alone would share a file on some disks.
  private var repeatedTypes: [String] {
    let classes = plan.file.entities.map { plan.className(of: $0) }
    let bases = plan.options.style == .base ? classes.map { $0 + "Base" } : []
    let names = classes + bases + plan.structures.map(\.name) + [ModelListCode(plan: plan).name]
    return duplicates(in: names.map { $0.lowercased() }).map { name in
      let same = names.filter { $0.lowercased() == name }.map { "'\($0)'" }.joined(separator: " and ")
      return "The names \(same) of generated types share a file; give each entity and composite a name of its own."
    }
  }

  private func duplicates(in names: [String]) -> [String] {
    var seen: Set<String> = []
    var repeated: [String] = []
    for name in names where !seen.insert(name).inserted && !repeated.contains(name) { repeated.append(name) }
    return repeated
  }
}
