import CoherenceCore
import Foundation

extension OutboxEntryRecord {
  /// Replaces the changes of the entry, with its related records and its large values. Called inside of the context.
  ///
  /// - Parameter store: The store of the entry.
  func write(_ changes: [OutboxChange], _ members: [OutboxMembers], store: (any PersistentStore)?) throws {
    guard let context = managedObjectContext else { return }
    let content = EntryContent(
      changes.map { EntryFormat.Field(name: $0.recordedName, base: $0.base, value: $0.value) },
      members.map {
        EntryFormat.Members(
          name: $0.recordedName, added: $0.added, removed: $0.removed, isReordered: $0.isReordered, isOwner: $0.isOwner)
      }, keepsLargeValues: kind != .delete)
    payload = content.payload
    references = content.references
    contentSize = 0
    for old in Array(contents) { context.delete(old) }
    if let whole = content.whole { try addContent(whole, store: store) }
  }

  /// Adds the payload with the values over 32 KB. Called inside of the context.
  ///
  /// - Parameter store: The store of the entry.
  func addContent(_ whole: Data, store: (any PersistentStore)?) throws {
    guard let context = managedObjectContext else { return }
    contentSize = Int64(whole.count)
    let new = try context.insertNewObject(forEntityName: OutboxContentRecord.entityName)
    if let store { try context.assign(new, to: store) }
    (new as? OutboxContentRecord)?.payload = whole
    (new as? OutboxContentRecord)?.entry = self
  }

  /// Sets an idempotency key that no request has had, and ends the group of entries of the last request: the next
  /// request may combine the entry with other entries.
  func renewKey() {
    idempotencyKey = .random()
    groupEnd = nil
  }

  /// Ends the refusal of the entry, if the server has refused it: gives its request new idempotency keys, because a
  /// server may repeat its first decision for the old ones.
  ///
  /// - Parameter entries: Entries of the record, the last one of the refused request among them. A request that ends
  ///   with a delete has the key of the delete.
  func endRefusal(with entries: [OutboxEntryRecord]) {
    guard isRejected else { return }
    isRejected = false
    renewKey()
    for entry in entries where entry.kind == .delete && entry !== self { entry.idempotencyKey = .random() }
  }

  /// Makes the entry pending, without attempts and without a claim.
  ///
  /// - Parameter date: The time of the next attempt, ``atOnce`` or ``retried``.
  func makePending(from date: Date) {
    state = .pending
    attempts = 0
    nextAttempt = date
    lease = nil
    claimant = nil
  }

  /// Orders the entries of one record by the record's saves.
  func precedes(_ other: OutboxEntryRecord) -> Bool {
    (recordVersion, sequence, objectID.key) < (other.recordVersion, other.sequence, other.objectID.key)
  }
}
