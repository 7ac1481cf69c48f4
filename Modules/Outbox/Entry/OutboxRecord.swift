public import CoherenceCore

/// A record that an entry names: the changed record, or a related one, in the store of the entry.
///
/// Unlike a `ManagedObjectID`, the value needs no model: it stays readable after a migration has removed the entity.
public struct OutboxRecord: Sendable, Hashable {
  /// The name of the root of the record's entity hierarchy: the name in the present model, or the recorded name of a
  /// hierarchy that the model does not have any more.
  public let rootName: String
  /// The key of the record in its hierarchy and store.
  public let key: Int64

  /// Makes a record from the name of the root of its hierarchy and its key.
  public init(rootName: String, key: Int64) {
    self.rootName = rootName
    self.key = key
  }

  /// Makes a record from a permanent identifier, whose entity is the root of the hierarchy.
  init(_ id: ManagedObjectID) {
    rootName = id.entity.name
    key = id.key
  }

  /// Returns the identifier of the record in a store, whether or not the record still exists.
  ///
  /// - Returns: `nil` when the model of the store has no hierarchy whose root has the name or had the name in an
  ///   earlier model, and when the store does not hold the hierarchy, because the model has moved it to another
  ///   configuration.
  public func objectID(in store: any PersistentStore) -> ManagedObjectID? {
    guard let root = store.environment.model.entity(recordedAs: rootName), root.root === root,
      store.environment.entities.contains(where: { $0 === root })
    else { return nil }
    return ManagedObjectID(space: store.spaces[root], key: key)
  }
}

extension OutboxRecord {
  /// The same record, by the name of its hierarchy in the model.
  func renamed(in model: ManagedObjectModel) -> OutboxRecord {
    if model.entitiesByName[rootName] != nil { return self }
    return model.entity(recordedAs: rootName).map { OutboxRecord(rootName: $0.name, key: key) } ?? self
  }
}

extension ManagedObjectModel {
  /// The present and the former names of a hierarchy's root, which its entries may have.
  func recordedNames(ofRoot name: String) -> [String] {
    entity(recordedAs: name).map { [$0.name] + $0.formerNames } ?? [name]
  }

  /// The entity with a name, or with the former name. A model never has two such entities.
  func entity(recordedAs name: String) -> EntityDescription? {
    entitiesByName[name] ?? entities.first { $0.formerNames.contains(name) }
  }
}

extension EntityDescription {
  /// The property with a name, or with the former name. An entity never has two such properties.
  func property(recordedAs name: String) -> PropertyDescription? {
    propertiesByName[name] ?? properties.first { $0.formerNames.contains(name) }
  }
}
