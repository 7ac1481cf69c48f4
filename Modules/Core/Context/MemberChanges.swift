/// What a context did to the members of a to-many relationship.
struct MemberChanges {
  /// In the order in which they were added.
  private(set) var added: [ManagedObjectID] = []
  private(set) var removed: Set<ManagedObjectID> = []
  private var addedSet: Set<ManagedObjectID> = []
  /// For an ordered relationship whose order was changed: all members in their new order.
  var order: [ManagedObjectID]?

  var isEmpty: Bool { added.isEmpty && removed.isEmpty && order == nil }

  mutating func add(_ id: ManagedObjectID) {
    if order?.contains(id) == false { order?.append(id) }
    if removed.remove(id) != nil { return }
    if addedSet.insert(id).inserted { added.append(id) }
  }

  mutating func remove(_ id: ManagedObjectID) {
    order?.removeAll { $0 == id }
    if addedSet.remove(id) != nil {
      added.removeAll { $0 == id }
    } else {
      removed.insert(id)
    }
  }

  /// The members, given those from below.
  func applied(to base: [ManagedObjectID]) -> [ManagedObjectID] {
    if let order { return order }
    guard !added.isEmpty || !removed.isEmpty else { return base }
    var result = removed.isEmpty ? base : base.filter { !removed.contains($0) }
    let present = Set(result)
    result += added.filter { !present.contains($0) }
    return result
  }

  /// The same with identifiers replaced.
  func mapped(_ map: (ManagedObjectID) -> ManagedObjectID) -> MemberChanges {
    var result = MemberChanges()
    result.added = added.map(map)
    result.addedSet = Set(result.added)
    result.removed = Set(removed.map(map))
    result.order = order?.map(map)
    return result
  }

  /// Takes over what a child context did.
  mutating func merge(_ child: MemberChanges) {
    for id in child.removed { remove(id) }
    for id in child.added { add(id) }
    if let order = child.order { self.order = order }
  }
}
