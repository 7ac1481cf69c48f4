extension ModelValidation {
  /// Finds derived attributes with an inapplicable rule, or with settings that contradict a derived value.
  func derivedProblems(_ entity: Entity) -> [String] {
    entity.properties.flatMap { property -> [String] in
      if let attribute = property as? Attribute { return derivedProblems(attribute, of: entity) }
      let parts = (property as? CompositeAttribute)?.parts.filter { $0.derived != nil } ?? []
      return parts.map {
        "'\(entity.name).\(property.name).\($0.name)' is a part of a composite and cannot be derived; derive an attribute."
      }
    }
  }

  private func derivedProblems(_ attribute: Attribute, of entity: Entity) -> [String] {
    guard let derivation = attribute.derived else { return [] }
    let path = "'\(entity.name).\(attribute.name)'"
    var problems: [String] = []
    if let type = derivation.type, attribute.type != type { problems.append(typeProblem(path, type, attribute)) }
    if !attribute.defaultValue.isNull || !attribute.validation.isEmpty || attribute.conversion != nil {
      problems.append("\(path) is derived and can have no default, no validation and no conversion; remove them.")
    }
    if let related = derivation.relationshipPath {
      return problems + relatedProblems(attribute, derivation, related, path, of: entity)
    }
    guard let source = derivation.source else { return problems }
    guard let text = attributes(entity).first(where: { $0.name == source }) else {
      problems.append(
        "\(path) is derived from '\(source)', which is no attribute of '\(entity.name)'; derive the text where it is "
          + "declared, and take it over by a path such as 'artist.nameFold'.")
      return problems
    }
    if text.type.storage != .string || text.type == .codable || text.type.isWeakReference {
      problems.append("\(path) is derived from '\(source)', which is no text.")
    }
    if text.derived != nil {
      problems.append("\(path) is derived from '\(source)', which is derived itself; derive both from one attribute.")
    }
    return problems
  }

  /// The sentence for a derived attribute of another type than its values.
  func typeProblem(_ path: String, _ type: AttributeType, _ attribute: Attribute) -> String {
    "\(path) is derived as a value of type \(type.canonicalName); declare it as one, not as "
      + "\(attribute.type.canonicalName)."
  }

  /// The attributes of an entity, with inherited ones and the parts of composites, by their full names.
  func attributes(_ entity: Entity) -> [Attribute] {
    allProperties(entity).flatMap { property -> [Attribute] in
      if let attribute = property as? Attribute { return [attribute] }
      return ((property as? CompositeAttribute)?.parts ?? []).map { part in
        var part = part
        part.name = "\(property.name).\(part.name)"
        return part
      }
    }
  }
}
