/// The deleted objects of a context whose delete rules are not applied yet, in the order of the deletes.
struct PendingDeletes {
  private(set) var objects: [ManagedObject] = []
  /// The number of objects of each hierarchy. A context deletes records of few hierarchies.
  private var counts: [(root: EntityDescription, count: Int)] = []

  var isEmpty: Bool { objects.isEmpty }
  var count: Int { objects.count }

  /// Whether an object of a hierarchy was deleted. Costs no pass over the objects, because a loop that deletes objects
  /// may read a relationship of each object before its delete.
  func hasObject(of root: EntityDescription) -> Bool { counts.contains { $0.root === root && $0.count > 0 } }

  mutating func append(_ object: ManagedObject) {
    objects.append(object)
    note(object, 1)
  }

  /// Removes an object whose delete was reverted.
  mutating func remove(_ object: ManagedObject) {
    guard hasObject(of: object.entity.root) else { return }
    let former = objects.count
    objects.removeAll { $0 === object }
    if objects.count < former { note(object, objects.count - former) }
  }

  /// Removes and returns the objects that satisfy a condition.
  mutating func take(where isTaken: (ManagedObject) -> Bool) -> [ManagedObject] {
    let taken = objects.filter(isTaken)
    guard !taken.isEmpty else { return [] }
    objects.removeAll(where: isTaken)
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
    objects = taken + objects
    for object in taken { note(object, 1) }
  }

  private mutating func note(_ object: ManagedObject, _ change: Int) {
    let root = object.entity.root
    guard let index = counts.firstIndex(where: { $0.root === root }) else { return counts.append((root, change)) }
    counts[index].count += change
  }
}
