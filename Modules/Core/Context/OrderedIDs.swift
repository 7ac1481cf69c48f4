/// Identifiers in the order in which they were added, each once.
struct OrderedIDs {
  /// With gaps of those that were removed, so that a removal does not move the others.
  private var slots: [ManagedObjectID?] = []
  private var places: [ManagedObjectID: Int] = [:]

  init() {}

  /// - Precondition: No identifier comes twice.
  init(_ ids: [ManagedObjectID]) { for id in ids { append(id) } }

  var isEmpty: Bool { places.isEmpty }
  var all: [ManagedObjectID] { slots.compactMap { $0 } }

  func contains(_ id: ManagedObjectID) -> Bool { places[id] != nil }

  /// Adds an identifier at the end; one that is there stays where it is.
  mutating func append(_ id: ManagedObjectID) {
    guard places[id] == nil else { return }
    places[id] = slots.count
    slots.append(id)
  }

  /// Answers whether the identifier was there.
  mutating func remove(_ id: ManagedObjectID) -> Bool {
    guard let place = places.removeValue(forKey: id) else { return false }
    slots[place] = nil
    if slots.count > 32, slots.count > places.count * 2 { close() }
    return true
  }

  /// Closes the gaps.
  private mutating func close() {
    slots = slots.filter { $0 != nil }
    for (place, id) in slots.enumerated() { if let id { places[id] = place } }
  }
}
