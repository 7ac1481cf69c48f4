import CoherenceCore

/// How a merge gets at the records that have certain keys: by their keys, some hundred at once, or by going through all
/// records once, whichever is less work.
struct MergeReach {
  /// The most keys in one fetch.
  private static let chunkSize = 500
  /// Going through so many records costs as much as finding one by an index.
  private static let recordsPerLookup = 4

  let context: ActionContext
  let entity: EntityDescription
  let keyAttributes: [AttributeDescription]

  /// Puts records to an expectation: all that have one of the keys, and possibly others.
  func visit(_ keys: [MergeKey], with expectation: any RowExpectation) throws {
    guard !keys.isEmpty else { return }
    if try isScanCheaper(keys.count) { return try visitAll(where: nil, with: expectation) }
    for start in stride(from: 0, to: keys.count, by: Self.chunkSize) {
      try context.refuseIfCanceled()
      let chunk = keys[start..<min(start + Self.chunkSize, keys.count)]
      try visitAll(where: condition(chunk), with: expectation)
    }
  }

  /// Puts all records that satisfy a predicate to an expectation.
  func visitAll(where predicate: FetchPredicate?, with expectation: any RowExpectation) throws {
    var request = FetchRequest<ManagedObject>(entityName: entity.name)
    request.predicate = predicate
    try context.compare(request, with: expectation)
  }

  /// For a key of several attributes, records come too that combine values of several keys.
  private func condition(_ keys: ArraySlice<MergeKey>) -> FetchPredicate {
    .and(
      keyAttributes.enumerated().map { index, attribute in
        .membership(.path(PropertyPath(names: [attribute.name])), in: Array(Set(keys.map { $0.values[index] })))
      })
  }

  private func isScanCheaper(_ keyCount: Int) throws -> Bool {
    if keyCount <= Self.chunkSize { return false }
    guard isIndexed else { return true }
    let count = try context.count(for: FetchRequest<ManagedObject>(entityName: entity.name))
    return count <= keyCount * Self.recordsPerLookup
  }

  /// Whether the stores find records by the key without looking at all of them.
  private var isIndexed: Bool {
    (entity.uniquenessConstraints + entity.indexes).contains { properties in
      properties.first.map { first in keyAttributes.contains { $0 === first } } == true
    }
  }
}
