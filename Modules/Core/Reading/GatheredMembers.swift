/// The column by which members name their owner.
struct MemberColumn {
  let entity: EntityDescription
  let inverse: RelationshipDescription
  /// Where an ordered relationship's members have their positions.
  let positionSlot: Int?
}

/// Members by owner, gathered from rows.
///
/// Rows of one owner mostly follow each other, and mostly come by key, so that few owners are looked up and few lists
/// sorted.
struct GatheredMembers {
  fileprivate struct List {
    let owner: ManagedObjectID
    var ids: [ManagedObjectID] = []
    var positions: [Int64] = []
    var isSorted = true
  }

  private var lists: [List] = []
  private var places: [ManagedObjectID: Int] = [:]
  private var latest: (owner: ManagedObjectID, place: Int)?
  /// The number of members.
  private(set) var count = 0

  mutating func add(_ rows: [Row], _ column: MemberColumn) {
    let slot = column.inverse.slot!
    for row in rows {
      guard case .reference(let owner) = row[slot] else { continue }
      var position: Int64 = -1
      if let positionSlot = column.positionSlot, case .int(let place) = row[positionSlot] { position = place }
      lists[place(of: owner)].add(row.id, position, isOrdered: column.positionSlot != nil)
      count += 1
    }
  }

  private mutating func place(of owner: ManagedObjectID) -> Int {
    if let latest, latest.owner == owner { return latest.place }
    let place = places[owner] ?? lists.count
    if place == lists.count {
      lists.append(List(owner: owner))
      places[owner] = place
    }
    latest = (owner, place)
    return place
  }

  /// Hands the lists over: by position, and members without one, or with the same one, by key.
  consuming func move(into result: inout [ManagedObjectID: [ManagedObjectID]]) {
    for list in lists { result[list.owner] = list.sorted() }
  }
}

extension GatheredMembers.List {
  fileprivate mutating func add(_ id: ManagedObjectID, _ position: Int64, isOrdered: Bool) {
    if let last = ids.last, isSorted {
      isSorted = isOrdered ? (positions.last ?? -1, last.key) < (position, id.key) : last.key < id.key
    }
    ids.append(id)
    if isOrdered { positions.append(position) }
  }

  fileprivate func sorted() -> [ManagedObjectID] {
    if isSorted { return ids }
    if positions.isEmpty { return ids.sorted { $0.key < $1.key } }
    return zip(positions, ids).sorted { ($0.0, $0.1.key) < ($1.0, $1.1.key) }.map(\.1)
  }
}
