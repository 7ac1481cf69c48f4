import CoherenceActions
import CoherenceCore
import Foundation

/// Writes conflicts, inside of the context of a merge or a forwarder.
struct ConflictWriter {
  let context: ManagedObjectContext
  let coordinator: PersistentStoreCoordinator
  let now: @Sendable () -> Date

  /// Writes conflicts, or the server's newer values of known ones. An equal conflict is not written again.
  ///
  /// - Parameter decisions: The decisions, each with the name of the record's own entity in its first entry.
  func write(_ decisions: [(PendingDecision, entityName: String)]) throws {
    guard !decisions.isEmpty else { return }
    let known = try conflicts(over: decisions.map(\.0.edit.recordID))
    for (decision, entityName) in decisions {
      try write(decision, entityName, known[decision.edit.recordID])
    }
  }

  private func write(_ decision: PendingDecision, _ recordedName: String, _ known: OutboxConflictRecord?) throws {
    let id = decision.edit.recordID
    let kind: OutboxConflictKind =
      decision.serverValues == nil ? .deletedOnServer : decision.edit.kind == .delete ? .deletedLocally : .bothChanged
    let names = decision.conflicting.sorted().joined(separator: "\n")
    let payload = payload(of: decision)
    if let known {
      guard known.kind != kind || known.names != names || known.payload != payload else { return }
      known.kind = kind
      known.names = names
      known.payload = payload
      return
    }
    let inserted = try context.insertNewObject(forEntityName: OutboxConflictRecord.entityName)
    guard let conflict = inserted as? OutboxConflictRecord else { return }
    if let store = id.storeIdentifier.flatMap({ coordinator.persistentStore(with: $0) }) {
      try context.assign(conflict, to: store)
    }
    conflict.entityName = coordinator.managedObjectModel.entity(recordedAs: recordedName)?.name ?? recordedName
    conflict.rootName = id.entity.root.name
    conflict.recordKey = id.key
    conflict.kind = kind
    conflict.detected = now()
    conflict.names = names
    conflict.payload = payload
  }

  /// The server's values with their bases, and the bases of conflicting properties without a server's value.
  private func payload(of decision: PendingDecision) -> Data {
    let server = decision.serverValues ?? [:]
    let names = Set(server.keys).union(decision.conflicting).sorted()
    let fields = names.map { name in
      EntryFormat.Field(
        name: name, base: decision.edit.base[name].map { OutboxValue(recording: $0) },
        value: server[name].map { OutboxValue(recording: $0) })
    }
    return EntryWriter.payload(fields, [])
  }

  /// The known conflicts of records.
  private func conflicts(
    over ids: [ManagedObjectID]
  ) throws -> [ManagedObjectID: OutboxConflictRecord] {
    let byKey = Dictionary(grouping: ids, by: \.key)
    let keys = FetchPredicate.membership(
      .path(PropertyPath(names: ["recordKey"])), in: byKey.keys.map(AttributeValue.int))
    var result: [ManagedObjectID: OutboxConflictRecord] = [:]
    for conflict in try context.fetch(FetchRequest(OutboxConflictRecord.self).filter(keys)) {
      let id = byKey[conflict.recordKey]?.first { id in
        ([id.entity.root.name] + id.entity.root.formerNames).contains(conflict.rootName)
          && id.storeIdentifier == conflict.objectID.storeIdentifier
      }
      if let id { result[id] = conflict }
    }
    return result
  }
}
