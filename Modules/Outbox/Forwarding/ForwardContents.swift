import CoherenceCore

/// Makes the contents of requests from steps, with the keys by which the server knows the related records.
struct ForwardContents {
  private let coordinator: PersistentStoreCoordinator
  /// The values by which the server knows each related record; empty for a record without known keys.
  private var keys: [RelatedRecord: [String: AttributeValue]] = [:]
  /// The values that the server has assigned to the updated records.
  private var assigned: [ManagedObjectID: [String: AttributeValue]] = [:]

  /// A related record in the store of an entry.
  private struct RelatedRecord: Hashable {
    let store: StoreIdentifier?
    let record: OutboxRecord
  }

  /// Reads the keys of all records that the steps refer to.
  ///
  /// - Parameter selection: The search that found the steps. If the context still reads the state of the stores in which
  ///   the search has read all entries and an empty log, related records without entries cost no read but their own.
  init(
    of steps: [OutboxStep], foundBy selection: OutboxSelection, outbox: Outbox, context: ManagedObjectContext
  ) throws {
    coordinator = outbox.coordinator
    var ids: [ManagedObjectID: RelatedRecord] = [:]
    for step in steps {
      guard let store = step.store(in: coordinator) else { continue }
      for record in step.relatedRecords + step.recordWithoutKey {
        guard let id = record.objectID(in: store) else { continue }
        ids[id] = RelatedRecord(store: store.identifier, record: record)
      }
    }
    if !ids.isEmpty { try readKeys(of: ids, foundBy: selection, outbox, context) }
    try readAssigned(of: steps.filter { $0.kind == .update }, in: context)
  }

  /// Reads the attributes that the server assigns. Costs nothing for entities without such attributes.
  private mutating func readAssigned(of updates: [OutboxStep], in context: ManagedObjectContext) throws {
    for (entityName, steps) in Dictionary(grouping: updates, by: \.head.entityName) {
      let entity = coordinator.managedObjectModel.entitiesByName[entityName]
      let names = entity?.attributes.filter(\.isServerAssigned).map(\.name) ?? []
      guard !names.isEmpty else { continue }
      for (id, object) in try context.existingObjects(with: steps.compactMap(\.head.recordID)) {
        for name in names { assigned[id, default: [:]][name] = try object.value(for: name) }
      }
    }
  }

  /// Reads the keys by which the server knows records: those of the first unsent edit of each record, or the present ones
  /// of a record without unsent edits.
  ///
  /// A user may have changed a key, or deleted a record, since the entries were made. The records are read before the
  /// log, and the log before the entries, because its records may become entries in between: a change that the record
  /// shows is in one of them.
  private mutating func readKeys(
    of ids: [ManagedObjectID: RelatedRecord], foundBy selection: OutboxSelection, _ outbox: Outbox,
    _ context: ManagedObjectContext
  ) throws {
    let present = try context.existingObjects(with: Array(ids.keys)).mapValues { try Self.keys(of: $0) }
    let decoder = EntryDecoder(coordinator: coordinator)
    let names = RecordedNames(in: context, of: coordinator)
    var firstEntries: [ManagedObjectID: OutboxEntry] = [:]
    if !selection.hasEmptyLog {
      try context.forEachLoggedChange { change, save in
        guard let id = names.objectID(of: change.record, in: save.id), ids[id] != nil else { return }
        let isFirst = firstEntries[id].map { $0.sequence > change.sequence } ?? true
        if isFirst { firstEntries[id] = decoder.entry(change, of: save) }
      }
    }
    let knowsAllEntries = selection.hasEmptyLog && selection.isComplete
    let recordsWithEntries = knowsAllEntries ? Set(selection.nodes.lazy.map(\.record)) : nil
    let edited = ids.filter { recordsWithEntries?.contains($0.value.record) ?? true }
    for (root, group) in Dictionary(grouping: edited.keys, by: \.entity.root) {
      let entries = try outbox.entries(ofKeys: group.map(\.key), root: root, in: context)
      for id in group {
        if let entry = entries[id.key]?.first(where: { $0.recordID == id }) { firstEntries[id] = entry }
      }
    }
    for (id, related) in ids {
      let keys = present[id] ?? [:]
      guard let first = firstEntries[id] else {
        self.keys[related] = keys
        continue
      }
      self.keys[related] = first.kind == .insert ? first.identity : Self.completed(first.identity, by: keys)
    }
  }

  private static func keys(of object: ManagedObject) throws -> [String: AttributeValue] {
    var keys: [String: AttributeValue] = [:]
    for attribute in object.entity.identifyingAttributes {
      keys[attribute.name] = try object.value(for: attribute.name)
    }
    return keys
  }

  /// Fills the null values of a recorded identity with present values. An edit saved while the insert of its record was
  /// on its way lacks the key that the server has assigned.
  private static func completed(
    _ identity: [String: AttributeValue], by present: [String: AttributeValue]
  ) -> [String: AttributeValue] {
    identity.merging(present) { recorded, present in recorded.isNull ? present : recorded }
  }

  /// The contents of the request of a claimed step.
  func content(of step: OutboxStep) -> ForwardContent {
    let head = step.head
    // As the claim counts.
    let attempt = head.attempts == .max ? .max : head.attempts + 1
    var content = ForwardContent(
      entityName: head.entityName, kind: step.kind, idempotencyKey: step.idempotencyKey, attempt: attempt,
      record: head.record, objectID: head.recordID, keys: identity(of: step), values: [:], base: [:],
      assigned: head.recordID.flatMap { assigned[$0] } ?? [:], references: [:], members: [:], author: head.author,
      date: head.enqueuedDate)
    let entity = coordinator.managedObjectModel.entitiesByName[head.entityName]
    for change in step.changes {
      if let base = change.base?.attributeValue {
        content.base[change.name] = base
        if entity?.propertiesByName[change.name]?.isServerAssigned == true { content.assigned[change.name] = base }
      }
      switch change.value {
      // The server does not have the target yet. A later update sends the reference.
      case .record(let record) where step.deferredReferences.contains(record):
        content.references[change.name] = .some(nil)
      case .record(let record): content.references[change.name] = reference(record, of: step)
      case .value where entity?.relationship(named: change.name) != nil:
        content.references[change.name] = .some(nil)
      case .value(let value): content.values[change.name] = value
      case .omitted, nil: break
      }
    }
    for change in step.members {
      content.members[change.name] = ForwardMembers(
        added: change.added.filter { !step.deferredReferences.contains($0) }.map { reference($0, of: step) },
        removed: change.removed.map { reference($0, of: step) })
    }
    return content
  }

  private func identity(of step: OutboxStep) -> [String: AttributeValue] {
    guard !step.recordWithoutKey.isEmpty else { return step.identity }
    let store = step.store(in: coordinator)
    return Self.completed(
      step.identity, by: keys[RelatedRecord(store: store?.identifier, record: step.head.record)] ?? [:])
  }

  private func reference(_ record: OutboxRecord, of step: OutboxStep) -> ForwardReference {
    let store = step.store(in: coordinator)
    return ForwardReference(
      record: record, entityName: store.flatMap { record.objectID(in: $0)?.entity.name } ?? record.rootName,
      keys: keys[RelatedRecord(store: store?.identifier, record: record)] ?? [:])
  }
}

extension OutboxStep {
  /// The store of the entries; `nil` after its detachment.
  fileprivate func store(in coordinator: PersistentStoreCoordinator) -> (any PersistentStore)? {
    head.id.storeIdentifier.flatMap { coordinator.persistentStore(with: $0) }
  }

  /// The record of an update or a delete, if its entries lack a part of the key; empty otherwise.
  fileprivate var recordWithoutKey: [OutboxRecord] {
    kind != .insert && identity.values.contains(where: \.isNull) ? [head.record] : []
  }

  /// The records that the request names.
  fileprivate var relatedRecords: [OutboxRecord] {
    changes.compactMap { $0.value?.record } + members.flatMap { $0.added + $0.removed }
  }

  /// The request to send for the step: for a delete after an insert, or after an update of the key, whose result is not
  /// known, that request alone.
  ///
  /// The server may have inserted the record under a key that it assigned itself, and it may have applied the update of
  /// the key or not. The request is repeated under its idempotency key, so that the server knows the record by the key of
  /// the delete.
  var repeatingUnansweredRequest: OutboxStep {
    guard kind == .delete, let count = EntryGroup.claimedEnd(at: 0, of: entries.map(\.facts)) else { return self }
    let group = Array(entries.prefix(count))
    if mayBeUnknownToServer {
      let insert = group.filter { $0.kind != .delete }
      return insert.isEmpty ? self : OutboxStep(insert, outcome: .insert)
    }
    // An attempted delete is the last entry of its request.
    guard head.facts.isAttempted, !group.isEmpty, group.allSatisfy({ $0.kind == .update }) else { return self }
    let update = OutboxStep(group, outcome: .update)
    return update.changes.contains { update.identity[$0.name] != nil } ? update : self
  }
}
