// The records of weak references, read for many references at a time.

extension ManagedObjectContext {
  /// Returns the loaded object of a weak reference; `nil` for a dangling reference, whose record does not exist, and
  /// for a record deleted in this context. To be called inside the context.
  ///
  /// - Throws: ``ErrorCode/storeDetached`` while the store of the record is not attached, ``ErrorCode/unknownEntity``
  ///   when the model lacks the entity, ``ErrorCode/noStore`` when the store does not hold the entity,
  ///   ``ErrorCode/wrongType`` for an object of another class, and errors of the store.
  public final func object<Target>(referencedBy reference: WeakReference<Target>) throws -> Target? {
    try objects(referencedBy: [reference])[reference]
  }

  /// Returns the objects of weak references, loaded together with one read for each hierarchy. The result leaves out
  /// dangling references and records deleted in this context. To be called inside the context.
  ///
  /// - Throws: As ``object(referencedBy:)``.
  public final func objects<Target>(
    referencedBy references: [WeakReference<Target>]
  ) throws -> [WeakReference<Target>: Target] {
    try operating {
      processInboxIfUsedDirectly()
      let ids = Set(references.lazy.compactMap(\.id))
      let coordinator = try coordinator()
      var result: [WeakReference<Target>: Target] = [:]
      // References with two names of a renamed entity may lead to one record.
      let wanted = try Dictionary(grouping: ids) { try coordinator.objectID(for: $0) }
      for object in try presentObjects(with: Array(wanted.keys)) {
        guard let ids = wanted[object.recordID] else { continue }
        guard let target = object as? Target else {
          throw CoherenceError(
            .wrongType, "A weak reference to \(Target.self) leads to an object of '\(object.entity.name)'.")
        }
        for id in ids { result[WeakReference(id)] = target }
      }
      return result
    }
  }

  /// The greatest number of neighbours whose references are read together.
  private static let greatestNeighbourCount = 1_024

  /// The loaded object of a reference; `nil` for a missing record. The records of the source's neighbours' references
  /// are read with it.
  final func referencedObject(
    _ id: StoredObjectID, at slot: Int, of source: ManagedObject
  ) throws -> ManagedObject? {
    let target = try coordinator().objectID(for: id)
    if let object = storage.registry.object(for: target), object.isLoaded {
      retain(target: object)
      return object
    }
    var wanted: Set<ManagedObjectID> = [target]
    if let group = storage.groups.group(of: source) {
      let ids = group.section(at: Int(source.groupIndex), size: Self.greatestNeighbourCount)
      for neighbour in storage.registry.objects(for: ids) {
        guard let neighbour, let other = referenceID(at: slot, of: neighbour, like: source) else { continue }
        wanted.insert(other)
      }
    }
    if wanted.count == 1 { noteFault(of: target.entity) }
    let unloaded = zip(wanted, storage.registry.objects(for: wanted)).compactMap { id, object in
      object?.isLoaded == true ? nil : id
    }
    let objects = try loading {
      enterUnit()
      return try loadAndRetain(unloaded, isTarget: true, areUnique: true)
    }
    let object = storage.registry.object(for: target)
    withExtendedLifetime(objects) {}
    return object?.isLoaded == true ? object : nil
  }

  /// The record in the same weak reference of a loaded neighbour; `nil` for no reference, and for a record of a
  /// detached store, or of a store without the entity.
  private final func referenceID(at slot: Int, of object: ManagedObject, like source: ManagedObject) -> ManagedObjectID?
  {
    guard object.entity.root === source.entity.root, slot < object.entity.slotCount,
      object.entity.slots[slot].name == source.entity.slots[slot].name,
      let value = object.pending?[slot] ?? object.row?[slot], let id = StoredObjectID(value)
    else { return nil }
    return try? persistentStoreCoordinator?.objectID(for: id)
  }

  /// Loads the records of objects' weak references, without records of detached stores, and of stores without the
  /// entity of the record.
  final func loadReferences(of attribute: AttributeDescription, from objects: [ManagedObject]) throws -> [ManagedObject]
  {
    let coordinator = try coordinator()
    var ids: Set<ManagedObjectID> = []
    for object in objects {
      guard let id = StoredObjectID(try object.loadedValue(at: attribute.slot)) else { continue }
      if let target = try? coordinator.objectID(for: id) { ids.insert(target) }
    }
    return try presentObjects(with: Array(ids))
  }

  /// Returns the objects of records, loaded together, without missing records and records deleted in this context.
  final func presentObjects(with ids: [ManagedObjectID]) throws -> [ManagedObject] {
    try loading {
      enterUnit()
      return try loadAndRetain(ids, isTarget: true, areUnique: true).filter { $0.isLoaded && !$0.isDeleted }
    }
  }
}
