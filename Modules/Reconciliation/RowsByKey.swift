package import CoherenceCore

/// Collects the identifiers of the rows with certain keys: of several rows with one key, the oldest row's, where a row of a
/// writable store comes before all rows of read-only stores. The key and the identifier suffice, so every row is skipped.
package final class IDsByKey: RowExpectation {
  package let keySlots: [Int]
  private let keys: Set<[AttributeValue]>
  private let readOnlyStores: ReadOnlyStores
  package private(set) var ids: [[AttributeValue]: ManagedObjectID] = [:]

  package init(_ keys: Set<[AttributeValue]>, keySlots: [Int], readOnlyStores: ReadOnlyStores) {
    self.keys = keys
    self.keySlots = keySlots
    self.readOnlyStores = readOnlyStores
  }

  /// The keys without a collected row.
  package var missing: [[AttributeValue]] { keys.filter { ids[$0] == nil } }

  package var expectedValues: [AttributeValue?] { [] }

  package func verdict(on id: ManagedObjectID, key: [AttributeValue]) -> RowVerdict {
    guard keys.contains(key) else { return .skip }
    if let collected = ids[key], !isPreferred(id, to: collected) { return .skip }
    ids[key] = id
    return .skip
  }

  private func isPreferred(_ id: ManagedObjectID, to other: ManagedObjectID) -> Bool {
    let (isReadOnly, isOtherReadOnly) = (readOnlyStores.contain(id), readOnlyStores.contain(other))
    return isReadOnly == isOtherReadOnly ? id.isOlder(than: other) : isOtherReadOnly
  }

  package func take(_ row: Row) {}
}

/// Collects the rows with certain keys.
final class RowsByKey: RowExpectation {
  let keySlots: [Int]
  private let keys: Set<[AttributeValue]>
  private var rows: [[AttributeValue]: [Row]] = [:]
  /// The identifiers of the collected rows. A row that satisfies the predicates of two chunks of keys is read twice.
  private var ids: Set<ManagedObjectID> = []
  /// The key of the row of the last verdict.
  private var currentKey: [AttributeValue] = []

  init(_ keys: Set<[AttributeValue]>, keySlots: [Int]) {
    self.keys = keys
    self.keySlots = keySlots
  }

  /// The rows with a key, the oldest first.
  func rows(with key: [AttributeValue]) -> [Row] { (rows[key] ?? []).sorted { $0.id.isOlder(than: $1.id) } }

  var expectedValues: [AttributeValue?] { [] }

  func verdict(on id: ManagedObjectID, key: [AttributeValue]) -> RowVerdict {
    currentKey = key
    return keys.contains(key) && ids.insert(id).inserted ? .take : .skip
  }

  func take(_ row: Row) { rows[currentKey, default: []].append(row) }
}

extension ManagedObjectID {
  /// Whether a record counts as older than another record of its hierarchy and store: the number in its identifier is
  /// lower. Unsaved records are the newest.
  package func isOlder(than other: ManagedObjectID) -> Bool {
    isTemporaryID == other.isTemporaryID ? key < other.key : !isTemporaryID
  }
}
