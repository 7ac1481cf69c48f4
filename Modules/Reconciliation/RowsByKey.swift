package import CoherenceCore

/// Collects the identifiers of the rows with certain keys: of several rows with one key, that of the row in the first
/// store of the order, and of several rows in one store, the oldest row's. The key and the identifier suffice, so every
/// row is skipped.
package final class IDsByKey: RowExpectation {
  package let keySlots: [Int]
  private let keys: Set<[AttributeValue]>
  private let order: StoreOrder
  package private(set) var ids: [[AttributeValue]: ManagedObjectID] = [:]
  /// The identifiers in each store, for the keys of rows of several stores.
  package private(set) var idsByStore: [[AttributeValue]: [StoreIdentifier: ManagedObjectID]] = [:]

  package init(_ keys: Set<[AttributeValue]>, keySlots: [Int], order: StoreOrder) {
    self.keys = keys
    self.keySlots = keySlots
    self.order = order
  }

  /// The keys without a row.
  package var missing: [[AttributeValue]] { keys.filter { ids[$0] == nil } }

  package var expectedValues: [AttributeValue?] { [] }

  package func verdict(on id: ManagedObjectID, key: [AttributeValue]) -> RowVerdict {
    guard keys.contains(key) else { return .skip }
    if let collected = ids[key] {
      noteStore(of: id, key, besides: collected)
      if !isPreferred(id, to: collected) { return .skip }
    }
    ids[key] = id
    return .skip
  }

  /// Notes the identifiers of two rows with one key by their stores. A key with rows in one store alone has no entry.
  private func noteStore(of id: ManagedObjectID, _ key: [AttributeValue], besides collected: ManagedObjectID) {
    guard let store = id.storeIdentifier, let other = collected.storeIdentifier,
      store != other || idsByStore[key] != nil
    else { return }
    var found = idsByStore[key] ?? [other: collected]
    if let present = found[store], !id.isOlder(than: present) { return }
    found[store] = id
    idsByStore[key] = found
  }

  /// Whether a row comes before another row with its key: by the order of their stores, and then by age.
  private func isPreferred(_ id: ManagedObjectID, to other: ManagedObjectID) -> Bool {
    let (rank, otherRank) = (order.rank(of: id), order.rank(of: other))
    return rank == otherRank ? id.isOlder(than: other) : rank < otherRank
  }

  /// Never called, because no verdict takes a row.
  package func take(_ row: Row) {}
}

/// Collects the rows with certain keys, of all stores that the rows are read from.
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
