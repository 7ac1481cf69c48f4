/// The rows that one save inserts, updates and deletes in one store, and the links that it adds and removes.
///
/// A value that refers to no object and no context: the whole input of ``SavePlan``. Rows are grouped by entity while a
/// save gathers them, so that the plan shares their arrays and loops over groups, not over rows.
struct RowChanges {
  /// The rows of one entity to insert, in the order in which they were added.
  struct Inserts {
    let entity: EntityDescription
    // Compared for each row without counting a reference to the entity.
    fileprivate let key: ObjectIdentifier
    fileprivate(set) var rows: [Row] = []
    /// The keys of deleted records that a merge policy restores. Other records may refer to a restored record, but not
    /// to one that the save inserts for the first time.
    fileprivate(set) var restoredKeys: Set<Int64> = []

    fileprivate init(of entity: EntityDescription) {
      self.entity = entity
      key = ObjectIdentifier(entity)
    }
  }

  /// The updates of the same slots of one entity, in the order in which they were added.
  struct Updates {
    let entity: EntityDescription
    let slots: SlotSet
    fileprivate let key: ObjectIdentifier
    fileprivate(set) var updates: [RowUpdate] = []
    /// The rows that the store is expected to have, in the same order.
    fileprivate(set) var bases: [Row?] = []

    fileprivate init(of entity: EntityDescription, slots: SlotSet) {
      self.entity = entity
      self.slots = slots
      key = ObjectIdentifier(entity)
    }
  }

  /// The rows of one entity to delete, in the order in which they were added.
  struct Deletes {
    let entity: EntityDescription
    fileprivate(set) var deletes: [RowDelete] = []
    /// The rows that the store is expected to have, in the same order.
    fileprivate(set) var bases: [Row?] = []
  }

  private(set) var inserts: [Inserts] = []
  private(set) var updates: [Updates] = []
  private(set) var deletes: [Deletes] = []
  var links = LinkChanges()

  private var insertIndices = GroupIndices<ObjectIdentifier>()
  private var updateIndices = GroupIndices<SlotGroup>()
  private var deleteIndices = GroupIndices<ObjectIdentifier>()

  /// Adds a row to insert.
  ///
  /// - Parameter isRestored: Whether the row is of a deleted record that a merge policy restores.
  /// - Returns: The index of the row's group.
  mutating func insert(_ row: Row, of entity: EntityDescription, isRestored: Bool = false) -> Int {
    let last = insertIndices.last
    let isNext = last < inserts.count && inserts[last].key == ObjectIdentifier(entity)
    let index = isNext ? last : insertIndices.index(of: ObjectIdentifier(entity))
    if index == inserts.count { inserts.append(Inserts(of: entity)) }
    inserts[index].rows.append(row)
    if isRestored { inserts[index].restoredKeys.insert(row.key) }
    return index
  }

  /// Adds an update of a row.
  ///
  /// - Parameters:
  ///   - slots: The slots to write.
  ///   - base: The row that the store is expected to have.
  mutating func update(_ update: RowUpdate, of entity: EntityDescription, slots: SlotSet, base: Row?) {
    let last = updateIndices.last
    let isNext = last < updates.count && updates[last].key == ObjectIdentifier(entity) && updates[last].slots == slots
    let index = isNext ? last : updateIndices.index(of: SlotGroup(entity, slots))
    if index == updates.count { updates.append(Updates(of: entity, slots: slots)) }
    updates[index].updates.append(update)
    updates[index].bases.append(base)
  }

  /// Adds a row to delete.
  ///
  /// - Parameter base: The row that the store is expected to have.
  /// - Returns: The index of the row's group.
  mutating func delete(_ delete: RowDelete, of entity: EntityDescription, base: Row?) -> Int {
    let last = deleteIndices.last
    let isNext = last < deletes.count && deletes[last].entity === entity
    let index = isNext ? last : deleteIndices.index(of: ObjectIdentifier(entity))
    if index == deletes.count { deletes.append(Deletes(entity: entity)) }
    deletes[index].deletes.append(delete)
    deletes[index].bases.append(base)
    return index
  }
}

/// The indices of groups, by the key that the members of a group share.
private struct GroupIndices<Key: Hashable> {
  private var indices: [Key: Int] = [:]
  /// The index returned last. Most saves change many records of one group in a row, so that callers try this group
  /// before they hash.
  private(set) var last = 0

  mutating func index(of key: Key) -> Int {
    let count = indices.count
    last = indices[key, default: count]
    if last == count { indices[key] = count }
    return last
  }
}

/// An entity and some of its slots.
struct SlotGroup: Hashable {
  let entity: EntityDescription
  let slots: SlotSet

  init(_ entity: EntityDescription, _ slots: SlotSet) {
    self.entity = entity
    self.slots = slots
  }

  static func == (left: SlotGroup, right: SlotGroup) -> Bool {
    left.entity === right.entity && left.slots == right.slots
  }

  /// Orders groups by entity, then by slots: the same order in every process.
  func precedes(_ other: SlotGroup) -> Bool {
    entity === other.entity
      ? slots.lexicographicallyPrecedes(other.slots) : entity.position < other.entity.position
  }
}
