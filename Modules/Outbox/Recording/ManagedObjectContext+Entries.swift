import CoherenceCore

extension ManagedObjectContext {
  /// Returns the entries of some records, in the order of each record's saves. Turns logged changes of the records into
  /// entries; the caller saves.
  ///
  /// Reads the log with one statement, loads the records of the log that have changes of the records, and reads the
  /// entries with one statement for a thousand records of a hierarchy.
  func entryRecords(of ids: [ManagedObjectID]) throws -> [ManagedObjectID: [OutboxEntryRecord]] {
    guard !ids.isEmpty else { return [:] }
    try makeLoggedEntries(of: ids)
    var result: [ManagedObjectID: [OutboxEntryRecord]] = [:]
    for (root, group) in Dictionary(grouping: ids, by: \.entity.root) {
      let byKey = Dictionary(grouping: group, by: \.key)
      for record in try entryRecords(ofKeys: Array(byKey.keys), rootNames: [root.name] + root.formerNames) {
        let id = byKey[record.recordKey]?.first { $0.storeIdentifier == record.storeIdentifier }
        if let id { result[id, default: []].append(record) }
      }
    }
    return result.mapValues { $0.sorted { $0.precedes($1) } }
  }

  /// Returns all entries of some records of a hierarchy, in no order.
  ///
  /// - Parameters:
  ///   - keys: The keys of the records.
  ///   - rootNames: The present and former names of the hierarchy's root.
  func entryRecords(ofKeys keys: [Int64], rootNames: [String]) throws -> [OutboxEntryRecord] {
    var found: [OutboxEntryRecord] = []
    try forEachEntryRequest(ofKeys: keys, rootNames: rootNames) { found += try fetch($0) }
    return found
  }

  /// Calls a block with requests that together find all entries of some records of a hierarchy. Each request covers at
  /// most a thousand records.
  func forEachEntryRequest(
    ofKeys keys: [Int64], rootNames: [String], _ body: (FetchRequest<OutboxEntryRecord>) throws -> Void
  ) throws {
    let keysPerFetch = 1000
    let names = rootNames.map(AttributeValue.string)
    for start in stride(from: 0, to: keys.count, by: keysPerFetch) {
      let pageKeys = keys[start..<min(keys.count, start + keysPerFetch)]
      try body(
        FetchRequest(OutboxEntryRecord.self)
          .filter(.membership(.path(PropertyPath(names: ["recordKey"])), in: pageKeys.map(AttributeValue.int)))
          .filter(.membership(.path(PropertyPath(names: ["rootName"])), in: names)))
    }
  }
}
