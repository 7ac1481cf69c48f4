import CoherenceCore

extension ManagedObjectContext {
  /// The records of all entries of records of a hierarchy, in no order.
  ///
  /// - Parameter rootNames: The names of the root of the hierarchy.
  func entryRecords(ofKeys keys: [Int64], rootNames: [String]) throws -> [OutboxEntryRecord] {
    let keysPerFetch = 1000
    let names = rootNames.map(AttributeValue.string)
    var found: [OutboxEntryRecord] = []
    for start in stride(from: 0, to: keys.count, by: keysPerFetch) {
      let part = keys[start..<min(keys.count, start + keysPerFetch)]
      found += try fetch(
        FetchRequest(OutboxEntryRecord.self)
          .filter(.membership(.path(PropertyPath(names: ["recordKey"])), in: part.map(AttributeValue.int)))
          .filter(.membership(.path(PropertyPath(names: ["rootName"])), in: names)))
    }
    return found
  }
}
