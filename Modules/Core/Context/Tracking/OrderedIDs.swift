/// A set of identifiers in the order of their addition.
struct OrderedIDs {
  /// The identifiers, until one is added or removed; `nil` since then. A list that is only read needs no table.
  private var list: [ManagedObjectID]?
  /// The identifiers by position. A removal leaves a gap, so that the other identifiers keep their positions.
  private var slots: [ManagedObjectID?] = []
  private var indices: [ManagedObjectID: Int] = [:]

  init() {}

  /// A set of the identifiers of a list, in its order. Of equal identifiers, the first counts.
  init(_ ids: [ManagedObjectID]) {
    slots.reserveCapacity(ids.count)
    indices.reserveCapacity(ids.count)
    for id in ids { append(id) }
  }

  /// A set of identifiers that are different from each other. Takes no time for each identifier.
  init(unique ids: [ManagedObjectID]) {
    list = ids
    checkInvariants()
  }

  var isEmpty: Bool { count == 0 }
  var count: Int { list?.count ?? indices.count }
  var all: [ManagedObjectID] { list ?? slots.compactMap { $0 } }

  /// Whether the set has an identifier. Takes time in proportion to a list from which nothing was added or removed.
  func contains(_ id: ManagedObjectID) -> Bool { list?.contains(id) ?? (indices[id] != nil) }

  /// Adds an identifier at the end. A second addition changes nothing.
  mutating func append(_ id: ManagedObjectID) {
    makeTable()
    guard indices[id] == nil else { return }
    indices[id] = slots.count
    slots.append(id)
  }

  /// Removes an identifier.
  ///
  /// - Returns: Whether the identifier was present.
  mutating func remove(_ id: ManagedObjectID) -> Bool {
    makeTable()
    guard let index = indices.removeValue(forKey: id) else { return false }
    slots[index] = nil
    if slots.count > 32, slots.count > indices.count * 2 { close() }
    return true
  }

  /// Makes the table for the first addition or removal.
  private mutating func makeTable() {
    guard let list else { return }
    self = OrderedIDs(list)
  }

  /// Closes the gaps.
  private mutating func close() {
    slots = slots.filter { $0 != nil }
    for (index, id) in slots.enumerated() { if let id { indices[id] = index } }
  }

  /// Checks in debug builds that a list of unique identifiers has each identifier once.
  private func checkInvariants() {
    assert(list.map { Set($0).count == $0.count } ?? true, "A list of unique identifiers repeats an identifier.")
  }
}
