public import CoherenceCore

extension Outbox {
  /// Returns the conflicts between pending edits and the server, in the order in which merges and forwarders found
  /// them. A conflict whose values are damaged, or of a later release, has its properties without the server's values.
  ///
  /// Cost: one read of the identifiers of all conflicts of the entity, one read of the conflicts of the page, and one
  /// read of their records.
  ///
  /// - Parameters:
  ///   - entityName: The name of an entity: the conflicts of its records and of its subentities' records are returned.
  ///     `nil` returns the conflicts of all entities.
  ///   - limit: The greatest number of conflicts.
  ///   - id: The last conflict of the previous page; `nil` for the first page.
  /// - Throws: `ErrorCode.invalidFetchRequest` for a negative limit; errors of the store.
  public func conflicts(
    in entityName: String? = nil, limit: Int = 100, after id: OutboxConflict.ID? = nil
  ) async throws -> [OutboxConflict] {
    guard limit >= 0 else {
      throw CoherenceError(.invalidFetchRequest, "A page of conflicts has a negative limit; ask for 0 or more.")
    }
    let context = newContext()
    return try await context.perform {
      // An identifier ascends with the insertion of its conflict.
      let ids = try context.fetchIDs(self.conflictRequest(entityName)).sorted { $0.isListed(before: $1) }
      let page = ids.drop { id.map($0.isListed(upTo:)) ?? false }.prefix(limit)
      let records = try context.objects(for: Array(page), as: OutboxConflictRecord.self)
      let objects = try self.objects(of: records, in: context)
      return try records.map { try self.conflict($0, objects, in: context) }
    }
  }

  /// Returns the number of conflicts. Costs one count by the stores.
  ///
  /// - Parameter entityName: As in ``conflicts(in:limit:after:)``.
  /// - Throws: Errors of the store.
  public func conflictCount(in entityName: String? = nil) async throws -> Int {
    let context = newContext()
    return try await context.perform { try context.count(for: self.conflictRequest(entityName)) }
  }

  /// Returns a stream of the number of conflicts. The stream has the present number at once, and a new number after
  /// each save of this process that adds, changes or resolves conflicts. A slow reader receives only the latest number.
  /// Ends with its task or with the coordinator, which the stream does not retain.
  ///
  /// ```swift
  /// for try await count in outbox.conflictCounts() { badge.number = count }
  /// ```
  /// - Throws: The call throws nothing; the iteration throws errors of the store.
  public func conflictCounts() -> AsyncThrowingStream<Int, any Error> {
    let coordinator = coordinator
    let changes = Result { try coordinator.entityChanges(of: OutboxConflictRecord.entityName) }
    return AsyncThrowingStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      let task = Task { [weak coordinator] in
        do {
          if let count = try await Self.conflictCount(in: coordinator) { continuation.yield(count) }
          for await _ in try changes.get() {
            if let count = try await Self.conflictCount(in: coordinator) { continuation.yield(count) }
          }
          continuation.finish()
        } catch {
          continuation.finish(throwing: error)
        }
      }
      continuation.onTermination = { _ in task.cancel() }
    }
  }
}

// MARK: - Inside of a context

extension Outbox {
  /// The number of all conflicts; `nil` after the release of the coordinator.
  private static func conflictCount(in coordinator: PersistentStoreCoordinator?) async throws -> Int? {
    guard let coordinator else { return nil }
    let context = newContext(on: coordinator)
    return try await context.perform { try context.count(for: FetchRequest(OutboxConflictRecord.self)) }
  }

  private func conflictRequest(_ entityName: String?) -> FetchRequest<OutboxConflictRecord> {
    let request = FetchRequest(OutboxConflictRecord.self)
    guard let names = recordedNames(of: entityName) else { return request }
    let own = FetchExpression.path(PropertyPath(names: [OutboxConflictRecord.Properties.table.entityName.name]))
    return request.filter(.membership(own, in: names.map(AttributeValue.string)))
  }

  /// The objects of the records in conflict, loaded together.
  private func objects(
    of conflicts: [OutboxConflictRecord], in context: ManagedObjectContext
  ) throws -> [ManagedObjectID: ManagedObject] {
    let ids = conflicts.compactMap(recordID)
    return Dictionary(
      try context.objects(for: ids).map { ($0.objectID, $0) }, uniquingKeysWith: { first, _ in first })
  }

  /// The identifier of the record in a conflict.
  func recordID(of conflict: OutboxConflictRecord) -> ManagedObjectID? {
    conflict.objectID.storeIdentifier.flatMap { coordinator.persistentStore(with: $0) }
      .flatMap { OutboxRecord(rootName: conflict.rootName, key: conflict.recordKey).objectID(in: $0) }
  }

  /// The conflict of a record as users see it.
  private func conflict(
    _ record: OutboxConflictRecord, _ objects: [ManagedObjectID: ManagedObject], in context: ManagedObjectContext
  ) throws -> OutboxConflict {
    let id = recordID(of: record)
    let object = id.flatMap { objects[$0] }
    let entity = coordinator.managedObjectModel.entity(recordedAs: record.entityName)
    let store = record.objectID.storeIdentifier.flatMap { coordinator.persistentStore(with: $0) }
    let values = ConflictValues(of: record, entity, in: store)
    let edited = id == nil ? try editedValues(of: record, in: context) : [:]
    let shown = values.properties.filter { property in
      // Changes of members are no values of the record.
      let isToMany = (object?.entity ?? entity)?.relationship(named: property.name)?.isToMany ?? false
      return values.names.contains(property.name) && !isToMany
    }
    let properties = try shown.map { property in
      let isKnown = object?.entity.propertiesByName[property.name] != nil
      let local = isKnown ? try object?.value(for: property.name) : edited[property.name]
      return OutboxConflictProperty(name: property.name, base: property.base, local: local, server: property.server)
    }
    return OutboxConflict(
      id: record.objectID, recordID: id, entityName: entity?.name ?? record.entityName, kind: record.kind,
      detectedDate: record.detected, properties: properties)
  }

  /// The last value that the entries of a record have for each property. Stands in for the object of a record whose
  /// entity the model does not have.
  private func editedValues(
    of conflict: OutboxConflictRecord, in context: ManagedObjectContext
  ) throws -> [String: AttributeValue] {
    let decoder = EntryDecoder(coordinator: coordinator)
    var values: [String: AttributeValue] = [:]
    for record in try UnknownRecordResolver.entries(of: conflict, in: context) {
      let entry = try decoder.entry(record, includesContent: true)
      for change in entry.changes { values[change.name] = change.value?.attributeValue }
    }
    return values
  }
}

extension ManagedObjectID {
  /// The order of conflicts in lists.
  fileprivate func isListed(before other: ManagedObjectID) -> Bool {
    (key, storeIdentifier?.rawValue ?? "") < (other.key, other.storeIdentifier?.rawValue ?? "")
  }

  fileprivate func isListed(upTo last: ManagedObjectID) -> Bool { !last.isListed(before: self) }
}
