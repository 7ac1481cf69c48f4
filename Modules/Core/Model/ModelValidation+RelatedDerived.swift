extension ModelValidation {
  /// Finds derived attributes whose rule cannot follow their path over relationships.
  func relatedProblems(
    _ attribute: Attribute, _ derivation: Derivation, _ related: String, _ path: String, of entity: Entity
  ) -> [String] {
    var problems: [String] = []
    if isConstrained(attribute.name, of: entity) {
      problems.append(
        "\(path) is derived from other records and cannot be unique, because a save of another record would violate the "
          + "constraint; leave it out of the constraints.")
    }
    guard let route = Route(related, from: entity, in: self) else {
      return problems + [
        "\(path) is derived from '\(related)', which is no path over relationships of '\(entity.name)'."
      ]
    }
    return problems + shapeProblems(route, derivation, related, path)
      + valueProblems(attribute, derivation, route, related, path)
  }

  /// Finds paths with a to-many relationship for the rule ``Derivation/path(_:)``, and paths without exactly one
  /// to-many relationship for the other rules.
  private func shapeProblems(_ route: Route, _ derivation: Derivation, _ related: String, _ path: String) -> [String] {
    if case .path = derivation {
      guard route.relationships.contains(where: \.isToMany) else { return [] }
      return [
        "\(path) is derived by the path '\(related)', which leads over a to-many relationship and has many values; "
          + "derive their number or their sum."
      ]
    }
    guard route.relationships.count == 1, route.relationships[0].isToMany else {
      return [
        "\(path) is derived from the members of '\(related)', which is not one to-many relationship; derive the value "
          + "in the entity that has the members, and take it over by a path, or compute it in a condition."
      ]
    }
    return []
  }

  /// Finds attributes at the end of a path with a type that the rule does not accept, and derived attributes with
  /// another type than their values.
  private func valueProblems(
    _ attribute: Attribute, _ derivation: Derivation, _ route: Route, _ related: String, _ path: String
  ) -> [String] {
    if case .count = derivation {
      return route.remainder.isEmpty
        ? [] : ["\(path) counts the members of '\(related)', which names more than a relationship; name it alone."]
    }
    guard let source = attributes(route.end).first(where: { $0.name == route.remainder }) else {
      return [
        "\(path) is derived from '\(related)', which ends at no attribute of '\(route.end.name)'; name one there."
      ]
    }
    if source.derived?.relationshipPath != nil {
      return [
        "\(path) is derived from '\(related)', which is derived from other records itself; name a path to the records "
          + "that both depend on, or compute the value in a condition."
      ]
    }
    guard let type = derivation.type(over: source.type) else {
      return [
        "\(path) is derived from '\(related)', whose type \(source.type.canonicalName) the rule does not take; use "
          + "numbers, for least and greatest values also texts and dates."
      ]
    }
    return attribute.type == type ? [] : [typeProblem(path, type, attribute)]
  }

  /// Whether an entity or a subentity has a uniqueness constraint with a property.
  private func isConstrained(_ name: String, of entity: Entity) -> Bool {
    entities.contains { other in
      guard other.uniqueness.contains(where: { $0.contains(name) }) else { return false }
      var visited: Set<String> = []
      var current: Entity? = other
      while let next = current, visited.insert(next.name).inserted {
        if next.name == entity.name { return true }
        current = next.parent.flatMap { byName[$0] }
      }
      return false
    }
  }
}

/// The relationships that a path follows from an entity, and the remaining names of the path.
private struct Route {
  var relationships: [Relationship] = []
  var end: Entity
  var remainder: String

  /// - Returns: `nil` for a path that does not begin with a relationship, and for a path to an entity that the model
  ///   does not have.
  init?(_ path: String, from entity: Entity, in validation: ModelValidation) {
    var names = path.pathNames[...]
    end = entity
    while let name = names.first,
      let next = validation.allProperties(end).first(where: { $0.name == name }) as? Relationship
    {
      guard let destination = validation.byName[next.destination] else { return nil }
      relationships.append(next)
      end = destination
      names = names.dropFirst()
    }
    remainder = names.joined(separator: ".")
    if relationships.isEmpty { return nil }
  }
}

extension Derivation {
  /// The type of the values that the rule derives from values of a type; `nil` for a type that the rule does not
  /// accept.
  fileprivate func type(over source: AttributeType) -> AttributeType? {
    switch (self, source) {
    case (.path, _): source
    case (.sum, .int16), (.sum, .int32), (.sum, .int64): .int64
    case (.sum, .float), (.sum, .double): .double
    case (.sum, .decimal): .decimal
    case (.average, .int16), (.average, .int32), (.average, .int64), (.average, .float), (.average, .double): .double
    case (.minimum, .int16), (.minimum, .int32), (.minimum, .int64), (.minimum, .float), (.minimum, .double),
      (.minimum, .decimal), (.minimum, .date), (.minimum, .string):
      source
    case (.maximum, .int16), (.maximum, .int32), (.maximum, .int64), (.maximum, .float), (.maximum, .double),
      (.maximum, .decimal), (.maximum, .date), (.maximum, .string):
      source
    default: nil
    }
  }
}
