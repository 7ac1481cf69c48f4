/// A set of identifiers in the order of their addition.
struct OrderedIDs {
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

  var isEmpty: Bool { indices.isEmpty }
  var count: Int { indices.count }
  var all: [ManagedObjectID] { slots.compactMap { $0 } }

  func contains(_ id: ManagedObjectID) -> Bool { indices[id] != nil }

  /// Adds an identifier at the end. A second addition changes nothing.
  mutating func append(_ id: ManagedObjectID) {
    guard indices[id] == nil else { return }
    indices[id] = slots.count
    slots.append(id)
  }

  /// Removes an identifier.
  ///
  /// - Returns: Whether the identifier was present.
  mutating func remove(_ id: ManagedObjectID) -> Bool {
    guard let index = indices.removeValue(forKey: id) else { return false }
    slots[index] = nil
    if slots.count > 32, slots.count > indices.count * 2 { close() }
    return true
  }

  /// Closes the gaps.
  private mutating func close() {
    slots = slots.filter { $0 != nil }
    for (index, id) in slots.enumerated() { if let id { indices[id] = index } }
  }
}
