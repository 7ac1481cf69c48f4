import CoherenceCore
import Logging

/// The managed entities, with the attributes that identify their records.
struct ManagedEntities: Sendable {
  /// By entity name, the names of the identifying attributes.
  private var attributes: [String: [String]] = [:]

  /// An empty set of entities.
  init() {}

  /// Collects the concrete entities of some stores with identifying attributes.
  init(of stores: [any PersistentStore], model: ManagedObjectModel) {
    for store in stores {
      for entity in model.entities(forConfigurationName: store.configurationName) ?? [] where !entity.isAbstract {
        attributes[entity.name] = EntityUniqueness(entity: entity).validAttributes
      }
    }
  }

  func contains(_ entity: EntityDescription) -> Bool { attributes[entity.name] != nil }

  /// The attributes that identify the entity's records; `nil` for an unmanaged entity.
  func uniquenessAttributes(of entity: EntityDescription) -> [String]? { attributes[entity.name] }

  /// The root entities' names of the hierarchies with managed entities.
  func hierarchies(in model: ManagedObjectModel) -> Set<String> {
    Set(attributes.keys.compactMap { model.entitiesByName[$0]?.root.name })
  }

  /// Logs for each entity of a store whether it is managed, and why not.
  func log(_ store: any PersistentStore, model: ManagedObjectModel, to logger: Logger) {
    guard let entities = model.entities(forConfigurationName: store.configurationName) else {
      return logger.warning(
        "The model has no entities for the store's configuration.",
        metadata: ["configuration": "\(store.configurationName ?? "default")"])
    }
    for entity in entities where !entity.isAbstract {
      let uniqueness = EntityUniqueness(entity: entity)
      if !uniqueness.invalidAttributes.isEmpty {
        logger.warning(
          "The entity lacks attributes that '\(EntityDescription.keySetting)' names.",
          metadata: ["entity": "\(entity.name)", "attributes": "\(uniqueness.invalidAttributes)"])
      }
      if contains(entity) {
        logger.info("Entity is managed.", metadata: ["entity": "\(entity.name)"])
      } else {
        logger.info(
          "Entity is not managed: the model names no attributes that identify its records.",
          metadata: ["entity": "\(entity.name)"])
      }
    }
  }
}

extension EntityDescription {
  /// The reason why a Connect does not manage the entity, with the way out, as the end of an error's sentence.
  func reasonOfNoManagement(isStarted: Bool) -> String {
    if isAbstract { return "the entity is abstract; use one of its concrete subentities." }
    let uniqueness = EntityUniqueness(entity: self)
    if uniqueness.validAttributes == nil {
      let missing = uniqueness.invalidAttributes.joined(separator: ", ")
      return missing.isEmpty
        ? "no attribute identifies its records; make one unique, or name attributes in '\(EntityDescription.keySetting)' "
          + "of its user info."
        : "'\(EntityDescription.keySetting)' of its user info names attributes that the entity does not have: "
          + "\(missing); correct the names."
    }
    return isStarted
      ? "no attached store has the entity; attach a store whose configuration has it."
      : "the Connect is not started; call `start` first."
  }
}
