import CoherenceCore

extension ManagedObjectContext {
  /// Returns the stored conflicts of some records. Costs one read.
  func conflictRecords(over ids: [ManagedObjectID]) throws -> [ManagedObjectID: OutboxConflictRecord] {
    guard !ids.isEmpty else { return [:] }
    let byKey = Dictionary(grouping: ids, by: \.key)
    let keys = FetchPredicate.membership(
      .path(PropertyPath(names: ["recordKey"])), in: byKey.keys.map(AttributeValue.int))
    var result: [ManagedObjectID: OutboxConflictRecord] = [:]
    for conflict in try fetch(FetchRequest(OutboxConflictRecord.self).filter(keys)) {
      let id = byKey[conflict.recordKey]?.first { id in
        ([id.entity.root.name] + id.entity.root.formerNames).contains(conflict.rootName)
          && id.storeIdentifier == conflict.objectID.storeIdentifier
      }
      if let id { result[id] = conflict }
    }
    return result
  }
}
