import CoherenceCore

/// Looks up the records, entities, properties and stores that entries name. The last results are kept, because most
/// entries of a read have the names of the entry before. Used inside of a context.
final class RecordedNames {
  let model: ManagedObjectModel
  private let context: ManagedObjectContext
  private let coordinator: PersistentStoreCoordinator
  private var lastRoot: (recorded: String, present: String)?
  private var lastEntity: (name: String, entity: EntityDescription?)?
  private var lastAssigned: (entity: EntityDescription, names: Set<String>)?
  private var lastStore: (entry: ManagedObjectID, store: (any PersistentStore)?)?
  private var lastSpace: (entry: ManagedObjectID, rootName: String, space: IDSpace?)?

  init(in context: ManagedObjectContext, of coordinator: PersistentStoreCoordinator) {
    self.context = context
    self.coordinator = coordinator
    model = coordinator.managedObjectModel
  }

  /// The record by the present name of its hierarchy.
  func record(_ record: OutboxRecord) -> OutboxRecord {
    if let lastRoot, lastRoot.recorded == record.rootName {
      return OutboxRecord(rootName: lastRoot.present, key: record.key)
    }
    let renamed = record.renamed(in: model)
    lastRoot = (record.rootName, renamed.rootName)
    return renamed
  }

  /// The entity with a name, or with the former name.
  func entity(_ name: String) -> EntityDescription? {
    if let lastEntity, lastEntity.name == name { return lastEntity.entity }
    let entity = model.entity(recordedAs: name)
    lastEntity = (name, entity)
    return entity
  }

  /// The present name of a recorded property, and a recorded value in the present type of the property.
  ///
  /// - Returns: `nil` for a property that the entity does not have any more.
  func present(
    _ value: AttributeValue, recordedAs name: String, of entity: EntityDescription
  ) -> (name: String, value: AttributeValue)? {
    guard let property = entity.property(recordedAs: name) else { return nil }
    return (property.name, (property as? AttributeDescription)?.converted(value) ?? value)
  }

  /// Recorded values of attributes, by the present names and in the present types.
  func presentValues(_ values: [String: AttributeValue], of entity: EntityDescription) -> [String: AttributeValue] {
    var result: [String: AttributeValue] = [:]
    for (name, value) in values {
      if let present = present(value, recordedAs: name, of: entity) { result[present.name] = present.value }
    }
    return result
  }

  /// The names of the entity's properties whose values the server assigns.
  func serverAssigned(of entity: EntityDescription) -> Set<String> {
    if let lastAssigned, lastAssigned.entity === entity { return lastAssigned.names }
    let assigned = entity.serverAssignedNames
    lastAssigned = (entity, assigned)
    return assigned
  }

  /// The store of an entry, or the store that will receive an unsaved entry of the context; `nil` for a detached store.
  func store(of entry: ManagedObjectID) -> (any PersistentStore)? {
    if let lastStore, lastStore.entry.hasSameSpace(as: entry), !entry.isTemporaryID { return lastStore.store }
    let store = storeIdentifier(of: entry).flatMap { coordinator.persistentStore(with: $0) }
    lastStore = (entry, store)
    return store
  }

  func storeIdentifier(of entry: ManagedObjectID) -> StoreIdentifier? {
    entry.storeIdentifier ?? (context.registeredObject(with: entry) as? OutboxEntryRecord)?.storeIdentifier
  }

  /// The identifier of a record that an entry names, by the present name of its hierarchy.
  func objectID(of record: OutboxRecord, in entry: ManagedObjectID) -> ManagedObjectID? {
    if let lastSpace, lastSpace.rootName == record.rootName, lastSpace.entry.hasSameSpace(as: entry),
      !entry.isTemporaryID
    {
      return lastSpace.space.map { ManagedObjectID(space: $0, key: record.key) }
    }
    let id = store(of: entry).flatMap { record.objectID(in: $0) }
    lastSpace = (entry, record.rootName, id?.space)
    return id
  }
}
