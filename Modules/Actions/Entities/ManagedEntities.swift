import CoherenceCore
import Logging

/// The managed entities, and the attributes that identify their records.
struct ManagedEntities: Sendable {
  private var attributes: [String: [String]] = [:]

  /// Nothing is managed.
  init() {}

  /// The managed ones among the entities of some stores.
  init(of stores: [any PersistentStore], model: ManagedObjectModel) {
    for store in stores {
      for entity in model.entities(forConfigurationName: store.configurationName) ?? [] where !entity.isAbstract {
        attributes[entity.name] = EntityUniqueness(entity: entity).validAttributes
      }
    }
  }

  func contains(_ entity: EntityDescription) -> Bool { attributes[entity.name] != nil }

  /// The attributes that identify the records of a managed entity.
  func uniquenessAttributes(of entity: EntityDescription) -> [String]? { attributes[entity.name] }

  /// The names of the hierarchies that managed entities are in.
  func hierarchies(in model: ManagedObjectModel) -> Set<String> {
    Set(attributes.keys.compactMap { model.entitiesByName[$0]?.root.name })
  }

  /// Says for each entity of a store why it is managed or not.
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
          "The entity has no such attributes, named in '\(EntityDescription.keySetting)'.",
          metadata: ["entity": "\(entity.name)", "attributes": "\(uniqueness.invalidAttributes)"])
      }
      if contains(entity) {
        logger.info("Entity is managed.", metadata: ["entity": "\(entity.name)"])
      } else {
        logger.info(
          "Entity is not managed: nothing says what tells its records apart.", metadata: ["entity": "\(entity.name)"])
      }
    }
  }
}
