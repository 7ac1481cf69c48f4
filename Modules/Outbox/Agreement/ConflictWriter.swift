import CoherenceActions
import CoherenceCore
import Foundation

/// Writes conflicts into the context of a merge or a forwarder, which saves.
struct ConflictWriter {
  let context: ManagedObjectContext
  let coordinator: PersistentStoreCoordinator
  let now: @Sendable () -> Date

  /// Writes new conflicts, and the server's newer values into the existing conflicts of the same records. An equal
  /// conflict is not written again.
  ///
  /// - Parameters:
  ///   - decisions: The decisions to be left to the user, each with the entity name in the first entry of its
  ///     record.
  ///   - keepsNewer: Whether a stored conflict stays as it is if the decision's edit does not have it, because the
  ///     conflict is newer than the merged page.
  func write(_ decisions: [(PendingDecision, entityName: String)], keepsNewer: Bool) throws {
    guard !decisions.isEmpty else { return }
    let existing = try context.conflictRecords(over: decisions.map(\.0.edit.recordID))
    for (decision, entityName) in decisions {
      if keepsNewer, decision.edit.conflict == nil, existing[decision.edit.recordID] != nil { continue }
      try write(decision, entityName, existing[decision.edit.recordID])
    }
  }

  /// Writes the conflict of one decision, into the existing conflict of the record if there is one.
  private func write(_ decision: PendingDecision, _ recordedName: String, _ existing: OutboxConflictRecord?) throws {
    let id = decision.edit.recordID
    let kind: OutboxConflictKind =
      decision.serverValues == nil ? .deletedOnServer : decision.edit.kind == .delete ? .deletedLocally : .bothChanged
    let names = OutboxConflictRecord.text(ofNames: decision.conflicting)
    let payload = payload(of: decision)
    if let existing {
      guard existing.kind != kind || existing.names != names || existing.payload != payload else { return }
      existing.kind = kind
      existing.names = names
      existing.payload = payload
      // An older page must not end the conflict with the newer values.
      existing.detected = now()
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
}
