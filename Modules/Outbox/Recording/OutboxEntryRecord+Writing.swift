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

  /// Orders the entries of one record by the record's saves.
  func precedes(_ other: OutboxEntryRecord) -> Bool {
    (recordVersion, sequence, objectID.key) < (other.recordVersion, other.sequence, other.objectID.key)
  }
}
