/// What one context wants to change of one record.
///
/// Changed by the context's owner under the context's `pendingLock`; read by the owner without it and by child contexts
/// with it.
final class PendingRecord {
  enum Kind { case inserted, updated, deleted }

  // What bulk work touches for every record goes without the runtime's check of overlapping access.
  @exclusivity(unchecked) var id: ManagedObjectID
  let entity: EntityDescription
  @exclusivity(unchecked) var kind: Kind
  /// The state that the changes started from; `nil` for a record that is in no store and no parent.
  @exclusivity(unchecked) var base: Row?
  /// The values as the context sees them, by slot.
  @exclusivity(unchecked) var values: [AttributeValue]
  /// The slots that were set to something else than the base has.
  @exclusivity(unchecked) var changed = SlotSet()
  /// What was added to and removed from to-many relationships.
  @exclusivity(unchecked) var members: [RelationshipDescription: MemberChanges] = [:]
  /// The object: changed objects are kept.
  @exclusivity(unchecked) var object: ManagedObject?
  /// Whether the record is still to be saved.
  @exclusivity(unchecked) var isCurrent = false
  /// Whether the next notification knows of the record already.
  @exclusivity(unchecked) var isAnnounced = false
  /// The key that was set aside for a fresh record, kept when a save fails.
  var reservedID: ManagedObjectID?
  /// Without a context: the objects that relationships lead to, which go into a context together with this one.
  var companions: [ManagedObjectID: ManagedObject] = [:]
  /// The store that the user chose for a fresh record.
  var assignedStore: StoreIdentifier?

  init(id: ManagedObjectID, entity: EntityDescription, kind: Kind, base: Row?, values: [AttributeValue]) {
    self.id = id
    self.entity = entity
    self.kind = kind
    self.base = base
    self.values = values
  }

  /// Whether nothing is left to save.
  var isVoid: Bool { kind == .updated && changed.isEmpty && members.allSatisfy(\.value.isEmpty) }

  /// Writes a slot and keeps account of whether it differs from the base.
  func set(_ value: AttributeValue, at slot: Int) {
    values[slot] = value
    if let base, base[slot] == value { changed.remove(slot) } else { changed.insert(slot) }
  }

  /// The record as an immutable row at its base's version.
  var snapshot: Row { Row.make(id: id, entity: entity, version: base?.version ?? 0, values: values) }

  /// Takes a newer base, keeping the context's own edits.
  func rebase(onto row: Row) {
    for slot in 0..<values.count where !changed.contains(slot) { values[slot] = row[slot] }
    base = row
    for slot in changed where row[slot] == values[slot] { changed.remove(slot) }
  }
}

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
