/// The deleted objects of a context whose delete rules are not applied yet, in the order of the deletes.
struct PendingDeletes {
  /// The objects by position. A removal leaves a gap, so that the other objects keep their positions.
  private var slots: [ManagedObject?] = []
  /// The positions of the objects; `nil` until an object before the last one is removed.
  private var positions: [ObjectIdentifier: Int]?
  /// The number of objects of each hierarchy. A context deletes records of few hierarchies.
  private var counts: [(root: EntityDescription, count: Int)] = []
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }
  var objects: [ManagedObject] { slots.compactMap { $0 } }

  /// Whether an object of a hierarchy was deleted. Costs no pass over the objects, because a loop that deletes objects
  /// may read a relationship of each object before its delete.
  func hasObject(of root: EntityDescription) -> Bool { counts.contains { $0.root === root && $0.count > 0 } }

  /// The objects of the latest deletes, and of some earlier ones after removals; `nil` for a removed object.
  func latest(_ count: Int) -> ArraySlice<ManagedObject?> { slots.suffix(count) }

  mutating func append(_ object: ManagedObject) {
    positions?[ObjectIdentifier(object)] = slots.count
    slots.append(object)
    note(object, 1)
  }

  /// Removes an object whose delete was reverted. Costs no pass over the objects, because a loop may revert many deletes.
  mutating func remove(_ object: ManagedObject) {
    guard hasObject(of: object.entity.root) else { return }
    if let last = slots.last, last === object {
      slots.removeLast()
    } else {
      makePositions()
      guard let index = positions?[ObjectIdentifier(object)] else { return }
      slots[index] = nil
    }
    positions?[ObjectIdentifier(object)] = nil
    note(object, -1)
    closeGaps()
  }

  /// Removes and returns the objects that satisfy a condition.
  mutating func take(where isTaken: (ManagedObject) -> Bool) -> [ManagedObject] {
    let taken = objects.filter(isTaken)
    guard !taken.isEmpty else { return [] }
    slots = objects.filter { !isTaken($0) }
    positions = nil
    for object in taken { note(object, -1) }
    return taken
  }

  /// Removes and returns all objects, for the application of their rules.
  mutating func takeAll() -> [ManagedObject] {
    defer { self = PendingDeletes() }
    return objects
  }

  /// Puts objects back, before the objects deleted since, because the application of their rules has failed.
  mutating func putBack(_ taken: [ManagedObject]) {
    slots = taken.map(Optional.some) + slots
    positions = nil
    for object in taken { note(object, 1) }
  }

  private mutating func note(_ object: ManagedObject, _ change: Int) {
    count += change
    let root = object.entity.root
    guard let index = counts.firstIndex(where: { $0.root === root }) else { return counts.append((root, change)) }
    counts[index].count += change
  }

  private mutating func makePositions() {
    guard positions == nil else { return }
    var made: [ObjectIdentifier: Int] = [:]
    for (index, object) in slots.enumerated() { if let object { made[ObjectIdentifier(object)] = index } }
    positions = made
  }

  /// Removes the gaps at the end, and all gaps when they are more than the objects.
  private mutating func closeGaps() {
    while let last = slots.last, last == nil { slots.removeLast() }
    guard slots.count > 32, slots.count > 2 * count else { return }
    slots.removeAll { $0 == nil }
    positions = nil
  }
}
