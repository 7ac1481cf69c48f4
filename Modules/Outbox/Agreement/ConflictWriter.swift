import CoherenceActions
import CoherenceCore
import Foundation

/// Writes conflicts into the context of a merge or a forwarder, which saves.
struct ConflictWriter {
  let context: ManagedObjectContext
  let coordinator: PersistentStoreCoordinator
  let now: @Sendable () -> Date

  /// Writes new conflicts, and the server's newer values into the known conflicts of the same records. An equal
  /// conflict is not written again.
  ///
  /// - Parameter decisions: The decisions to be left to the user, each with the entity name in the first entry of its
  ///   record.
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

  /// The server's values with their bases. A conflicting property without a value of the server has its base alone.
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

  /// The stored conflicts of some records.
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
