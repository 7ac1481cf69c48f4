import CoherenceCore

extension Outbox {
  /// Deletes the conflict of an entry's record after the user has retried, edited or dropped the entry. Only the first
  /// entry of a record waits for a conflict: for a later entry the conflict stays.
  ///
  /// Called inside of a context that the caller saves.
  func removeConflict(of record: OutboxEntryRecord, in context: ManagedObjectContext) throws {
    let all = try records(
      ofKeys: [record.recordKey],
      rootNames: coordinator.managedObjectModel.recordedNames(ofRoot: record.rootName), in: context)
    let isFirst = all.allSatisfy { other in
      other === record || other.storeIdentifier != record.storeIdentifier || record.precedes(other)
    }
    if isFirst { try removeConflicts(over: [record], in: context) }
  }

  /// Deletes the conflicts of the entries' records.
  ///
  /// Called inside of a context that the caller saves.
  func removeConflicts(over entries: [OutboxEntryRecord], in context: ManagedObjectContext) throws {
    guard !entries.isEmpty else { return }
    let model = coordinator.managedObjectModel
    let entriesByKey = Dictionary(grouping: entries, by: \.recordKey)
    let keys = FetchPredicate.membership(
      .path(PropertyPath(names: [OutboxConflictRecord.Properties.table.recordKey.name])),
      in: entriesByKey.keys.map(AttributeValue.int))
    for conflict in try context.fetch(FetchRequest(OutboxConflictRecord.self).filter(keys)) {
      let concernsEntry = entriesByKey[conflict.recordKey, default: []].contains { entry in
        entry.storeIdentifier == conflict.objectID.storeIdentifier
          && model.recordedNames(ofRoot: entry.rootName).contains(conflict.rootName)
      }
      if concernsEntry { context.delete(conflict) }
    }
  }
}
