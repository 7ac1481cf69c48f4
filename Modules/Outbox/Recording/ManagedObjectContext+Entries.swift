import CoherenceCore

extension ManagedObjectContext {
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
