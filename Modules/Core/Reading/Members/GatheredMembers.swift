/// Collects the members of owners from rows.
///
/// Rows of one owner are mostly adjacent and mostly ordered by key, so that few owners need a look-up and few lists a
/// sort.
struct GatheredMembers {
  /// The members of one owner, in the order of their rows.
  fileprivate struct List {
    let owner: ManagedObjectID
    var ids: [ManagedObjectID] = []
    /// The position of each member; empty for an unordered relationship.
    var positions: [Int64] = []
    /// Whether the members are in the order of the list already.
    var isSorted = true
  }

  private var lists: [List] = []
  /// The indices in `lists`, by owner.
  private var indices: [ManagedObjectID: Int] = [:]
  /// The owner of the last row.
  private var latest: (owner: ManagedObjectID, index: Int)?
  /// The number of gathered members.
  private(set) var count = 0

  /// Adds the records of rows to the members of their owners.
  ///
  /// - Parameter column: The column of the rows that refers to the owner.
  mutating func add(_ rows: [Row], _ column: MemberColumn) {
    let slot = column.inverse.slot!
    for row in rows {
      guard case .reference(let owner) = row[slot] else { continue }
      lists[index(of: owner)].add(row.id, column.position(of: row) ?? .min, isOrdered: column.positionSlot != nil)
      count += 1
    }
  }

  /// The index of an owner's list, which is added for the owner's first member.
  private mutating func index(of owner: ManagedObjectID) -> Int {
    if let latest, latest.owner == owner { return latest.index }
    let index = indices[owner] ?? lists.count
    if index == lists.count {
      lists.append(List(owner: owner))
      indices[owner] = index
    }
    latest = (owner, index)
    return index
  }

  /// Adds the lists to a dictionary by owner. Members are ordered by position; members without a position come first,
  /// and members of equal positions are ordered by key.
  consuming func move(into result: inout [ManagedObjectID: [ManagedObjectID]]) {
    for list in lists { result[list.owner] = list.sorted() }
  }
}

extension GatheredMembers.List {
  /// Adds a member, and notes whether the members are still in order.
  fileprivate mutating func add(_ id: ManagedObjectID, _ position: Int64, isOrdered: Bool) {
    if let last = ids.last, isSorted {
      isSorted = isOrdered ? (positions.last ?? .min, last.key) < (position, id.key) : last.key < id.key
    }
    ids.append(id)
    if isOrdered { positions.append(position) }
  }

  /// The members in the order of the list.
  fileprivate func sorted() -> [ManagedObjectID] {
    if isSorted { return ids }
    if positions.isEmpty { return ids.sorted { $0.key < $1.key } }
    return zip(positions, ids).sorted { ($0.0, $0.1.key) < ($1.0, $1.1.key) }.map(\.1)
  }
}
