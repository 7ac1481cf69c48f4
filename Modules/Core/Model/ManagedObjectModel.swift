import Synchronization

/// A set of entities, with which a stack of contexts and stores works.
///
/// A model is built from declarations, checked as a whole, and immutable from then on. It lives as long as the process,
/// because objects refer to its descriptions without reference counting: build each model once. Two models are equal
/// when their entities and configurations are. May be used on any thread.
public final class ManagedObjectModel: Sendable {
  /// The name for ``register()``, from which containers also make the names of store files.
  public let name: String?
  /// The entities, in order of declaration.
  public let entities: [EntityDescription]
  /// The entities by name.
  public let entitiesByName: [String: EntityDescription]
  /// The names of the configurations, sorted.
  public var configurations: [String] { entitiesByConfiguration.keys.sorted() }
  /// The version names that the application gave to the model. They do not affect compatibility.
  public let versionIdentifiers: Set<String>
  /// Sentences about valid, but probably mistaken declarations: relationships without an inverse. A model from a file
  /// also has a sentence for each part of the file that the model leaves out.
  public let warnings: [String]
  /// The entities of each configuration.
  let entitiesByConfiguration: [String: [EntityDescription]]
  /// Whether any entity has a derived attribute. Saves with a model without derived attributes skip their computation.
  let hasDerivedAttributes: Bool
  /// The derived attributes that depend on other records, by the changes that affect them.
  let derivations: DerivationIndex
  /// The declarations that the model was built from, with inferred inverses.
  let declarations: [Entity]
  /// The warnings of the reader of a model file, without the model's own warnings.
  let notes: [String]
  private let entitiesByClass: [ObjectIdentifier: [EntityDescription]]
  /// The entities by former name.
  private let entitiesByFormerName: [String: EntityDescription]

  /// Builds a model.
  ///
  /// - Parameters:
  ///   - configurations: For each configuration, the names of its entities. A configuration includes the subentities of
  ///     its entities. A store without a configuration name has all entities.
  /// - Throws: ``ErrorCode/invalidModel``, naming every problem of the declarations.
  public convenience init(
    name: String? = nil, configurations: [String: [String]] = [:], versionIdentifiers: Set<String> = [],
    @EntitiesBuilder entities: () -> [Entity]
  ) throws {
    try self.init(
      name: name, entities: entities(), configurations: configurations, versionIdentifiers: versionIdentifiers)
  }

  /// Builds a model from an array of declarations.
  public convenience init(
    name: String? = nil, entities: [Entity], configurations: [String: [String]] = [:],
    versionIdentifiers: Set<String> = []
  ) throws {
    try self.init(
      notes: [], name: name, entities: entities, configurations: configurations,
      versionIdentifiers: versionIdentifiers)
  }

  /// Builds a model from an array of declarations.
  ///
  /// - Parameter notes: The warnings of the reader of a model file, which precede the model's own warnings.
  package init(
    notes: [String], name: String?, entities declarations: [Entity], configurations: [String: [String]] = [:],
    versionIdentifiers: Set<String> = []
  ) throws {
    let inference = InverseInference(declarations)
    let declarations = inference.entities
    let problems = inference.problems + ModelValidation(declarations, configurations: configurations).problems
    guard problems.isEmpty else {
      throw CoherenceError(.invalidModel, problems.joined(separator: " "))
    }
    let linked = ModelLinker(declarations).link()
    let byName = Dictionary(uniqueKeysWithValues: linked.map { ($0.name, $0) })
    self.name = name
    self.declarations = declarations
    self.notes = notes
    self.entities = linked
    self.entitiesByName = byName
    self.hasDerivedAttributes = linked.contains { !$0.checked.derived.isEmpty || !$0.checked.related.isEmpty }
    self.derivations = DerivationIndex(linked)
    self.versionIdentifiers = versionIdentifiers
    self.entitiesByClass = Dictionary(grouping: linked) { ObjectIdentifier($0.objectClass) }
    self.entitiesByFormerName = Dictionary(
      linked.flatMap { entity in entity.formerNames.map { ($0, entity) } }, uniquingKeysWith: { first, _ in first })
    self.entitiesByConfiguration = configurations.mapValues { names in
      let chosen = Set(names.flatMap { byName[$0]!.hierarchy.map(\.name) })
      return linked.filter { chosen.contains($0.name) }
    }
    let unpaired = linked.flatMap { entity in
      entity.relationships.filter { $0.entity === entity && $0.inverse == nil }.map {
        "Relationship '\(entity.name).\($0.name)' has no inverse: "
          + ($0.isToMany
            ? "its members have no reference back." : "the deletion of its target leaves a dangling reference.")
      }
    }
    self.warnings = notes + unpaired
  }

  /// The entities of a configuration. Returns all entities for the name `nil`, and `nil` for an unknown name.
  public func entities(forConfigurationName name: String?) -> [EntityDescription]? {
    guard let name else { return entities }
    return entitiesByConfiguration[name]
  }

  /// The names of the configurations that have an entity, sorted.
  func configurations(with entity: EntityDescription) -> [String] {
    configurations.filter { name in entitiesByConfiguration[name, default: []].contains { $0 === entity } }
  }

  /// The entity with a name.
  ///
  /// - Throws: ``ErrorCode/unknownEntity``, listing the existing names.
  public func entity(named name: String) throws(CoherenceError) -> EntityDescription {
    guard let entity = entitiesByName[name] else {
      let names = entities.map(\.name).joined(separator: ", ")
      throw CoherenceError(.unknownEntity, "The model has no entity '\(name)'; it has: \(names).")
    }
    return entity
  }

  /// The entity with a present or a former name.
  ///
  /// - Throws: ``ErrorCode/unknownEntity``, listing the existing names.
  func entity(identifiedAs name: String) throws(CoherenceError) -> EntityDescription {
    // No entity has the former name of another one.
    if let entity = entitiesByFormerName[name] { return entity }
    return try entity(named: name)
  }

  /// The entity with a class of objects.
  ///
  /// - Throws: ``ErrorCode/unknownEntity`` when no entity, or more than one, has the class, listing names of entities.
  public func entity(for objectClass: ManagedObject.Type) throws(CoherenceError) -> EntityDescription {
    let matches = entitiesByClass[ObjectIdentifier(objectClass)] ?? []
    guard matches.count == 1 else {
      let names = (matches.isEmpty ? entities : matches).map(\.name).joined(separator: ", ")
      throw CoherenceError(
        .unknownEntity,
        matches.isEmpty
          ? "No entity has the class '\(objectClass)'; add the class to the model, or name one of its entities: \(names)."
          : "Several entities have the class '\(objectClass)'; name one of them instead: \(names).")
    }
    return matches[0]
  }

  /// The version hash of each entity.
  public var versionHashes: [String: VersionHash] { entitiesByName.mapValues(\.versionHash) }
}

extension ManagedObjectModel: Hashable {
  /// Whether two models have the same entities, by name and version hash, in the same configurations.
  public static func == (left: ManagedObjectModel, right: ManagedObjectModel) -> Bool {
    left === right
      || (left.versionHashes == right.versionHashes
        && left.entityNamesByConfiguration == right.entityNamesByConfiguration)
  }
  public func hash(into hasher: inout Hasher) { hasher.combine(Set(entitiesByName.keys)) }

  private var entityNamesByConfiguration: [String: Set<String>] {
    entitiesByConfiguration.mapValues { Set($0.map(\.name)) }
  }
}

// MARK: - Models by name

extension ManagedObjectModel {
  private static let registeredModels = Mutex<[String: ManagedObjectModel]>([:])

  /// Registers the model under its name, so that a container can be made from the name alone. A later model of the same
  /// name replaces an earlier one. May be called on any thread.
  ///
  /// - Throws: ``ErrorCode/invalidModel`` when the model has no name.
  public func register() throws {
    guard let name else {
      throw CoherenceError(
        .invalidModel, "A model without a name cannot be registered; pass a name to its initialiser.")
    }
    Self.registeredModels.withLock { $0[name] = self }
  }

  /// The registered model with a name, or the model of the file with that name.
  ///
  /// A program that links `CoherenceModelFiles` finds the file `<name>.xcdatamodeld` among its resources when no model
  /// of the name is registered. The model of the file is then registered.
  ///
  /// - Throws: ``ErrorCode/modelNotFound``, listing the registered names; errors of reading the file.
  public static func named(_ name: String) throws -> ManagedObjectModel {
    if let model = registeredModels.withLock({ $0[name] }) { return model }
    if let found = try LinkedModelFiles.locator?.model(named: name) {
      return registeredModels.withLock { models in
        // During the read, another thread may have registered a model, and a name has a single model.
        let model = models[name] ?? found
        models[name] = model
        return model
      }
    }
    let names = registeredModels.withLock { $0.keys.sorted().joined(separator: ", ") }
    throw CoherenceError(
      .modelNotFound,
      "No model '\(name)' is registered (registered: \(names.isEmpty ? "none" : names)), \(LinkedModelFiles.absence). "
        + "Call `register()` on the model first, or pass the model to the initialiser.")
  }
}
