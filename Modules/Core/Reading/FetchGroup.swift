/// The records of one read. A relationship of one of them is read for its neighbours too.
final class FetchGroup {
  /// The kind of read, which decides how many neighbours are read along.
  enum Origin {
    /// A fetch. Whether a walk follows is not known yet.
    case fetch
    /// Members of a relationship. The walk over them continues.
    case members
    /// The targets of a to-one relationship of one group's records.
    case targets
  }

  /// How many faults of a fetch are loaded together.
  static let faultWindow = 256
  /// The numbers of neighbours that a relationship is read for, one after the other.
  private static let (first, step, most) = (64, 16, 16_384)

  let number: UInt32
  let origin: Origin
  fileprivate(set) var ids: [ManagedObjectID] = []
  private var windows: [RelationshipDescription: Window] = [:]

  private struct Window {
    var size: Int
    var unit: Int
    /// How many members an owner had, so far.
    var members = 1
  }

  fileprivate init(number: UInt32, origin: Origin) {
    self.number = number
    self.origin = origin
  }

  /// Adds the records of rows, in the order of their objects.
  func add(_ rows: [Row]) {
    if ids.isEmpty { ids.reserveCapacity(rows.count) }
    rows.withUnsafeBufferPointer { rows in
      for row in rows { ids.append(row.id) }
    }
  }

  /// The records, and what the group itself takes beside them.
  fileprivate var weight: Int { ids.count + 16 }

  /// The place that the next record gets.
  var count: Int { ids.count }

  /// Adds a record without a row.
  ///
  /// - Returns: The record's place.
  func add(_ id: ManagedObjectID) -> UInt32 {
    ids.append(id)
    return UInt32(ids.count - 1)
  }

  /// The faults to load together with one.
  func faults(at index: Int) -> ArraySlice<ManagedObjectID> {
    guard origin == .fetch else { return ids[...] }
    let start = index / Self.faultWindow * Self.faultWindow
    return ids[start..<min(start + Self.faultWindow, ids.count)]
  }

  /// The neighbours to read a relationship for together with a record: few at first, more while the walk continues.
  /// Records of one section of the group get the same neighbours, so that the order of a walk does not matter.
  ///
  /// - Parameters:
  ///   - unit: A number that changes when lists are dropped. A walk that saves at each step drops them each time, and is
  ///     given no neighbours.
  ///   - budget: How many members one read may bring.
  func window(
    at index: Int, for relationship: RelationshipDescription, unit: Int, budget: Int
  ) -> ArraySlice<ManagedObjectID> {
    var window = next(at: index, for: relationship, unit: unit)
    let size = max(1, min(window.size, budget / window.members))
    window.unit = unit
    windows[relationship] = window
    let start = index / size * size
    return ids[start..<min(start + size, ids.count)]
  }

  private func next(at index: Int, for relationship: RelationshipDescription, unit: Int) -> Window {
    guard var window = windows[relationship] else {
      // A walk begins at the first record, as a rule; the caller of another one looks at that record alone.
      return Window(size: origin != .fetch ? Self.first * Self.step : index == 0 ? Self.first : 1, unit: unit)
    }
    if window.unit != unit {
      window.size = 1
    } else {
      window.size = window.size < Self.first ? Self.first : min(window.size * Self.step, Self.most)
    }
    return window
  }

  /// Learns how many members owners have.
  func note(members: Int, of owners: Int, for relationship: RelationshipDescription) {
    windows[relationship]?.members = max(1, members / max(1, owners))
  }
}

/// The groups of a context. The earliest groups are dropped beyond a bound.
struct FetchGroups {
  /// How many records the groups remember, beside those of the latest one.
  static let limit = 262_144

  private var groups: [UInt32: FetchGroup] = [:]
  private var order: [UInt32] = []
  private var total = 0
  private var last: UInt32 = 0

  /// Makes a group, to be entered when its records are known.
  mutating func make(_ origin: FetchGroup.Origin) -> FetchGroup {
    last &+= 1
    // Zero stands for none.
    if last == 0 { last = 1 }
    return FetchGroup(number: last, origin: origin)
  }

  /// Enters a group with all its records. A single record has no neighbours and needs no group.
  mutating func enter(_ group: FetchGroup) {
    guard group.count > 1 else { return }
    groups[group.number] = group
    order.append(group.number)
    total += group.weight
    guard total > Self.limit, order.count > 1 else { return }
    forgetFirst()
  }

  private mutating func forgetFirst() {
    var dropped = 0
    // Half of them at once, so that a drop costs little for each.
    while total > Self.limit / 2, dropped < order.count - 1 {
      if let group = groups.removeValue(forKey: order[dropped]) { total -= group.weight }
      dropped += 1
    }
    order.removeFirst(dropped)
  }

  /// The group that an object came with.
  func group(of object: ManagedObject) -> FetchGroup? {
    guard let group = groups[object.groupNumber], Int(object.groupIndex) < group.count,
      group.ids[Int(object.groupIndex)] == object.id
    else { return nil }
    return group
  }

  mutating func removeAll() {
    groups = [:]
    order = []
    total = 0
  }
}
