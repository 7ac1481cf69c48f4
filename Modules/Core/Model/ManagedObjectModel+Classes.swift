extension ManagedObjectModel {
  /// Builds a model from classes that declare their entities.
  ///
  /// ```swift
  /// let model = try ManagedObjectModel(Track.self, Album.self, name: "Music")
  /// ```
  /// The list includes the class of each parent and of each destination. A declaration without an
  /// inverse leaves it to the model, see ``Relationship/infersInverse``.
  ///
  /// - Parameters:
  ///   - configurations: For each configuration, the classes of its entities. A configuration includes the subentities
  ///     of its entities. A store without a configuration name has all entities.
  /// - Throws: ``ErrorCode/invalidModel``, naming every problem of the declarations.
  public convenience init(
    _ first: any DeclaredEntity.Type, _ others: any DeclaredEntity.Type..., name: String? = nil,
    configurations: [String: [any DeclaredEntity.Type]] = [:], versionIdentifiers: Set<String> = []
  ) throws {
    try self.init(
      classes: [first] + others, name: name, configurations: configurations, versionIdentifiers: versionIdentifiers)
  }

  /// Builds a model from an array of classes that declare their entities.
  ///
  /// - Throws: ``ErrorCode/invalidModel``, naming every problem of the declarations.
  public convenience init(
    classes: [any DeclaredEntity.Type], name: String? = nil,
    configurations: [String: [any DeclaredEntity.Type]] = [:], versionIdentifiers: Set<String> = []
  ) throws {
    let declarations = classes.map { ($0, $0.entityDeclaration) }
    let problems = declarations.flatMap { Self.problems($0, $1) }
    guard problems.isEmpty else { throw CoherenceError(.invalidModel, problems.joined(separator: " ")) }
    try self.init(
      name: name, entities: declarations.map(\.1),
      configurations: configurations.mapValues { $0.map { $0.entityName } },
      versionIdentifiers: versionIdentifiers)
  }

  /// Returns a sentence for a declaration with another class, or with another name than the class declares.
  private static func problems(_ type: any DeclaredEntity.Type, _ declaration: Entity) -> [String] {
    if declaration.objectClass != type {
      return [
        "The declaration of class '\(type)' makes objects of '\(declaration.objectClass)'; "
          + "'\(type)' needs an 'entityDeclaration' of its own."
      ]
    }
    guard declaration.name == type.entityName else {
      return [
        "Class '\(type)' names its entity '\(type.entityName)', and its declaration names it '\(declaration.name)'; "
          + "both must be the same."
      ]
    }
    return []
  }
}
