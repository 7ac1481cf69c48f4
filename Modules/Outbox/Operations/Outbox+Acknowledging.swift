import CoherenceCore
import Foundation

extension Outbox {
  /// Deletes the entries of an accepted request, in a context that the caller saves together with the values of the
  /// server's reply.
  ///
  /// References that the request left out, because the server did not have their records yet, become a new entry: an
  /// update that waits for these records.
  ///
  /// Called inside of the context. Entries that no longer exist are skipped.
  func acknowledge(_ step: OutboxStep, in context: ManagedObjectContext) throws {
    let records = try records(step.entries.map(\.id), in: context)
    if !step.deferredReferences.isEmpty, let head = records.first { try addFollowUp(of: step, like: head, in: context) }
    for record in records { context.delete(record) }
  }

  /// Adds the entry that sends the deferred references of a step.
  private func addFollowUp(
    of step: OutboxStep, like head: OutboxEntryRecord, in context: ManagedObjectContext
  ) throws {
    let changes = step.changes.filter { $0.value?.record.map(step.deferredReferences.contains) == true }.map { change in
      var change = change
      change.base = .value(.null)
      return change
    }
    let members = step.members.compactMap { change -> OutboxMembers? in
      var change = change
      change.added = change.added.filter(step.deferredReferences.contains)
      change.removed = []
      return change.added.isEmpty ? nil : change
    }
    guard !changes.isEmpty || !members.isEmpty,
      let store = head.storeIdentifier.flatMap({ coordinator.persistentStore(with: $0) }),
      let entry = try context.insertNewObject(forEntityName: OutboxEntryRecord.entityName) as? OutboxEntryRecord
    else { return }
    try context.assign(entry, to: store)
    let date = options.now()
    let sequence = OutboxSequence.shared.reserve(1, at: date).lowerBound
    entry.sequence = sequence
    entry.transaction = sequence
    entry.entityName = head.entityName
    entry.rootName = head.rootName
    entry.recordKey = head.recordKey
    // The version orders the new entry before the later entries of the record.
    entry.recordVersion = step.entries[step.entries.count - 1].recordVersion
    entry.kind = .update
    entry.idempotencyKey = .random()
    entry.author = head.author
    entry.enqueued = date
    entry.identity = head.identity
    // The server may have assigned another key, which the first entry has by now.
    if try EntryDecoder(coordinator: coordinator).entry(head).identity == step.entries[0].identity {
      replaceIdentifyingValues(in: [entry], by: step.sentIdentity)
    }
    try entry.write(changes, members, store: store)
  }
}

extension OutboxStep {
  /// The identifying values by which the server knows the record after the request, without those that it assigns
  /// itself.
  var sentIdentity: [String: AttributeValue] {
    var sent = identity
    for change in changes where sent[change.name] != nil {
      if let value = change.value?.attributeValue { sent[change.name] = value }
    }
    return sent
  }
}
