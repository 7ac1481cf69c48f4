/// The state of an ordered list on which changes are based.
struct ListOrigin {
  /// The version of the owner's row.
  var version: Int64
  /// The members in order; `nil` when the list was not read.
  var ids: [ManagedObjectID]?
}

/// The changes that a context made to the members of a to-many relationship.
struct MemberChanges {
  /// The added members.
  private var additions = OrderedIDs()
  /// The removed members.
  private(set) var removed: Set<ManagedObjectID> = []
  /// All members in their new order; `nil` while the order is not changed.
  private var arrangement: OrderedIDs?
  /// For an ordered relationship of a saved record, the list on which the changes are based. A list is a value of its
  /// owner's row, so that a later version of the row is a conflict.
  private(set) var origin: ListOrigin?
  /// The time of the latest addition or removal, see ``SaveClock``.
  private(set) var time = 0

  /// The added members, in the order of their addition.
  var added: [ManagedObjectID] { additions.all }
  /// The number of added members, without a list of them.
  var addedCount: Int { additions.count }

  /// For an ordered relationship whose order was changed: all members in their new order.
  var order: [ManagedObjectID]? {
    get { arrangement?.all }
    set { arrangement = newValue.map { OrderedIDs($0) } }
  }

  /// Sets the order of all members.
  ///
  /// - Parameter order: Each member once.
  mutating func arrange(_ order: [ManagedObjectID]) { arrangement = OrderedIDs(unique: order) }

  var isEmpty: Bool { additions.isEmpty && removed.isEmpty && arrangement == nil }

  /// Whether all present members keep their positions, so that added members come behind them.
  var keepsPositions: Bool { arrangement == nil }

  /// Whether an added member comes last in the list after the changes. With a changed order, members that another writer
  /// has added come behind, and a member that another writer has removed returns to its position in the order.
  ///
  /// - Parameter last: The present last member.
  func addsLast(_ id: ManagedObjectID, behind last: ManagedObjectID?) -> Bool {
    guard let arrangement else { return true }
    return !arrangement.contains(id) && last.map(arrangement.contains) != false
  }

  /// Whether the changes make a record a member; `nil` when they neither add nor remove the record.
  func contains(_ id: ManagedObjectID) -> Bool? {
    if additions.contains(id) { return true }
    return removed.contains(id) ? false : nil
  }

  /// Whether the changes add a record that the list below the changes does not have. An ordered list that has lost a member
  /// and has it again keeps both edits.
  func hasAdded(_ id: ManagedObjectID) -> Bool { additions.contains(id) && !removed.contains(id) }

  /// Records the list on which the next change is based. The oldest list is kept.
  mutating func begin(at origin: ListOrigin) {
    guard let former = self.origin, !isEmpty else { return self.origin = origin }
    let isOlder = origin.version < former.version
    if isOlder || (origin.version == former.version && former.ids == nil) { self.origin = origin }
  }

  /// Moves the changes onto another version of the owner's row.
  ///
  /// - Parameter keepingMembers: Whether the other version has the same members as the list below the changes.
  mutating func move(toVersion version: Int64, keepingMembers: Bool) {
    guard let former = origin else { return }
    origin = ListOrigin(version: version, ids: keepingMembers ? former.ids : nil)
  }

  /// Adds a member.
  ///
  /// - Parameters:
  ///   - comesLast: Whether a removed member added again follows all other members, as in an ordered list, instead of
  ///     returning to its former position.
  ///   - isStored: Whether a removed member still is a member below the changes.
  mutating func add(_ id: ManagedObjectID, comesLast: Bool, isStored: Bool = true) {
    time = SaveClock.now
    arrangement?.append(id)
    if !comesLast, removed.remove(id) != nil, isStored { return }
    additions.append(id)
  }

  /// Removes a member.
  ///
  /// - Parameter isStored: Whether an added member is a member below the changes too.
  mutating func remove(_ id: ManagedObjectID, isStored: Bool = false) {
    time = SaveClock.now
    _ = arrangement?.remove(id)
    if additions.remove(id), !isStored { return }
    // An unsaved record that is neither an addition nor in the list below the changes is no member.
    if id.isTemporaryID, origin?.ids?.contains(id) == false { return }
    removed.insert(id)
  }

  /// Drops the order if the members are those before the changes, in the same order.
  ///
  /// - Parameter below: The members that other writers have saved since, in their order; `nil` if they are unknown.
  mutating func dropFormerOrder(below: [ManagedObjectID]? = nil) {
    guard arrangement != nil, additions.isEmpty, removed.isEmpty else { return }
    let order = order
    if origin?.ids == order || below == order { arrangement = nil }
  }

  /// The members after the changes.
  ///
  /// - Parameter base: The members before the changes.
  func applied(to base: [ManagedObjectID]) -> [ManagedObjectID] {
    if let arrangement {
      let order = arrangement.all
      // Without other changes the order has the members that it is applied to.
      if additions.isEmpty, removed.isEmpty, order.count == base.count, ListMatching(order, in: base).isComplete {
        return order
      }
      // Members that another writer has added since come last. Members that another writer has removed are left out.
      let orderedIDs = Set(order)
      let present = Set(base).subtracting(removed).union(added)
      return order.filter(present.contains) + base.filter { !orderedIDs.contains($0) && !removed.contains($0) }
    }
    guard !additions.isEmpty || !removed.isEmpty else { return base }
    var result = removed.isEmpty ? base : base.filter { !removed.contains($0) }
    let present = Set(result)
    result += added.filter { !present.contains($0) }
    return result
  }

  /// The changes without the order.
  var withoutOrder: MemberChanges {
    var result = self
    result.order = nil
    return result
  }

  /// The changes with identifiers replaced.
  func mapped(_ map: (ManagedObjectID) -> ManagedObjectID) -> MemberChanges {
    var result = MemberChanges()
    result.additions = OrderedIDs(added.map(map))
    result.removed = Set(removed.map(map))
    result.order = order?.map(map)
    result.time = time
    result.origin = origin.map { ListOrigin(version: $0.version, ids: $0.ids?.map(map)) }
    return result
  }

  /// Drops the addition or the removal of a member that the list below the changes has too.
  mutating func forgetMove(of id: ManagedObjectID) {
    _ = additions.remove(id)
    removed.remove(id)
  }

  /// Drops members whose records are deleted.
  mutating func forget(_ deletedIDs: Set<ManagedObjectID>) {
    for id in added where deletedIDs.contains(id) { _ = additions.remove(id) }
    for id in order ?? [] where deletedIDs.contains(id) { _ = arrangement?.remove(id) }
  }

  /// Adds members again that ``forget(_:)`` has dropped, in their former order.
  ///
  /// - Parameter members: The members before the drop.
  mutating func restore(_ forgotten: Set<ManagedObjectID>, in members: [ManagedObjectID]) {
    let former = added
    additions = OrderedIDs(members.filter { forgotten.contains($0) || additions.contains($0) } + former)
    guard let order else { return }
    let orderedIDs = Set(order)
    arrangement = OrderedIDs(members.filter { forgotten.contains($0) || orderedIDs.contains($0) } + order)
  }

  /// Drops the removals of members whose records are deleted: the list below the changes does not have them any more.
  mutating func forgetRemovals(of deletedIDs: Set<ManagedObjectID>) {
    guard removed.contains(where: deletedIDs.contains) else { return }
    removed = removed.filter { !deletedIDs.contains($0) }
  }

  /// The changes, based on another list of the same version.
  ///
  /// - Parameter ids: The members in order; `nil` for a list that was not read.
  func based(on ids: [ManagedObjectID]?) -> MemberChanges {
    var result = self
    result.origin = origin.map { ListOrigin(version: $0.version, ids: ids) }
    return result
  }

  /// Adds the changes of a child context.
  ///
  /// - Parameter isStored: Whether a member whose change the child reverts is a member below the changes; without a value
  ///   if no other save has changed the list.
  mutating func merge(_ child: MemberChanges, isOrdered: Bool, isStored: [ManagedObjectID: Bool] = [:]) {
    if let origin = child.origin { begin(at: origin) }
    // The edits are as old as in the child.
    let latest = max(time, child.time)
    for id in child.removed { remove(id, isStored: isStored[id] ?? false) }
    for id in child.added { add(id, comesLast: isOrdered, isStored: isStored[id] ?? true) }
    time = latest
    guard let order = child.order else { return }
    // Members that this context has added and the child does not know come last.
    let orderedIDs = Set(order)
    self.order = order + added.filter { !orderedIDs.contains($0) }
  }
}
