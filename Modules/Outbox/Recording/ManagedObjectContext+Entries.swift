import CoherenceCore

extension ManagedObjectContext {
  /// The entries of records, in the order of each record's saves. Makes those that the log has; the caller saves.
  ///
  /// Reads the log with one statement, and the entries with one for each hierarchy.
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

  /// The records of all entries of records of a hierarchy, in no order.
  ///
  /// - Parameter rootNames: The names of the root of the hierarchy.
  func entryRecords(ofKeys keys: [Int64], rootNames: [String]) throws -> [OutboxEntryRecord] {
    var found: [OutboxEntryRecord] = []
    try forEachEntryRequest(ofKeys: keys, rootNames: rootNames) { found += try fetch($0) }
    return found
  }

  /// Calls a block with requests that together find all entries of records of a hierarchy, a thousand records each.
  func forEachEntryRequest(
    ofKeys keys: [Int64], rootNames: [String], _ body: (FetchRequest<OutboxEntryRecord>) throws -> Void
  ) throws {
    let keysPerFetch = 1000
    let names = rootNames.map(AttributeValue.string)
    for start in stride(from: 0, to: keys.count, by: keysPerFetch) {
      let part = keys[start..<min(keys.count, start + keysPerFetch)]
      try body(
        FetchRequest(OutboxEntryRecord.self)
          .filter(.membership(.path(PropertyPath(names: ["recordKey"])), in: part.map(AttributeValue.int)))
          .filter(.membership(.path(PropertyPath(names: ["rootName"])), in: names)))
    }
  }
}
