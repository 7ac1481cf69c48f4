public import CoherenceCore

extension ModelFile {
  /// Builds the model that stacks work with.
  ///
  /// The model's `warnings` begin with ``warnings``. Its version hashes equal those of the same model declared in code.
  ///
  /// - Parameter classes: The classes of the entities.
  /// - Throws: ``/CoherenceCore/ErrorCode/invalidModel``, naming every fault: an unregistered class, a type
  ///   unknown to models, a default of another type than its attribute, a missing destination.
  public func model(classes: EntityClasses = .registered) throws -> ManagedObjectModel {
    try ManagedObjectModel(file: self, classes: classes)
  }

  /// Returns the declarations of the entities, as they are written in code.
  ///
  /// - Throws: As ``model(classes:)``, but faults between entities are found by the model only.
  public func declarations(classes: EntityClasses = .registered) throws -> [CoherenceCore.Entity] {
    try declared(classes: classes).entities
  }

  /// Returns the declaration of an attribute: an attribute or a composite, or none for a transient attribute.
  ///
  /// - Throws: ``/CoherenceCore/ErrorCode/invalidModel`` for a type or a value that models do not have.
  public func declaration(of attribute: Attribute, in entity: Entity) throws -> [any PropertyDeclaration] {
    var builder = DeclarationBuilder(self)
    let properties = builder.properties(of: attribute, in: entity.name)
    try refuse(builder.faults)
    return properties
  }

  /// Sentences about the parts of the file that the built model leaves out: transient properties, fetched properties
  /// without a readable request, indexes of expressions, and settings and elements without an effect. Settings of the
  /// editor have no sentence. Each access builds the declarations.
  public var warnings: [String] {
    var builder = DeclarationBuilder(self)
    _ = builder.entities(classes: .generic)
    addWarnings(to: &builder)
    return builder.warnings
  }

  /// The declarations of the entities, with the former names that the other versions of the package give to them, and
  /// all warnings.
  fileprivate func declared(classes: EntityClasses) throws -> (entities: [CoherenceCore.Entity], warnings: [String]) {
    var builder = DeclarationBuilder(self)
    let entities = builder.entities(classes: classes)
    addWarnings(to: &builder)
    checkNames(&builder)
    try refuse(builder.faults)
    return (entities, builder.warnings)
  }

  /// Adds the warnings about renaming identifiers and about the parts beside the entities.
  private func addWarnings(to builder: inout DeclarationBuilder) {
    builder.warnings += source.unknownRenamings
    for template in fetchRequests {
      let title = "Fetch request '\(template.name)'"
      builder.report(template.otherAttributes, template.otherElements, of: title)
      do throws(CoherenceError) {
        _ = try template.readPredicate(substituting: nil)
      } catch {
        builder.warnings.append("\(title) has a predicate that cannot be read: \(error.message)")
      }
    }
    builder.reportFile()
  }

  /// Finds two entities with one renaming identifier, and two configurations with one name.
  private func checkNames(_ builder: inout DeclarationBuilder) {
    var seen: [String: String] = [:]
    for entity in entities {
      guard let identifier = entity.renamingIdentifier else { continue }
      if let other = seen[identifier] {
        builder.faults.append(
          "Entities \(builder.located(entity.name)) and \(builder.located(other)) have the same renaming identifier "
            + "'\(identifier)'.")
      }
      seen[identifier] = entity.name
    }
    let names = configurations.map(\.name)
    if let name = names.first(where: { name in names.count(where: { $0 == name }) > 1 }) {
      builder.faults.append("Two configurations are named '\(name)'.")
    }
  }

  /// The names of entities by configuration. ``checkNames(_:)`` refuses a second configuration of one name.
  fileprivate var configurationMembers: [String: [String]] {
    Dictionary(configurations.map { ($0.name, $0.entities) }, uniquingKeysWith: { first, _ in first })
  }

  /// Throws an error with all faults, if the list has any.
  private func refuse(_ faults: [String]) throws(CoherenceError) {
    guard !faults.isEmpty else { return }
    throw CoherenceError(.invalidModel, errorPrefix + faults.joined(separator: " "))
  }

  /// The beginning of an error's sentences, with the path of a file that was read.
  fileprivate var errorPrefix: String {
    source.path.map { "The model file '\($0)' is invalid: " } ?? "The model file is invalid: "
  }
}

extension ManagedObjectModel {
  /// Builds a model from a file; see ``ModelFile/model(classes:)``.
  convenience init(file: ModelFile, classes: EntityClasses) throws {
    let parts = try file.declared(classes: classes)
    do {
      try self.init(
        notes: parts.warnings, name: file.name, entities: parts.entities, configurations: file.configurationMembers,
        versionIdentifiers: Set([file.versionIdentifier].compactMap(\.self)))
    } catch var error as CoherenceError {
      error.message = file.errorPrefix + error.message
      throw error
    }
  }
}
