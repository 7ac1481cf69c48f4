/// The records of one read, which are neighbours of each other. A relationship of a record is read for its neighbours
/// too, so that a walk over many records needs few reads.
final class FetchGroup {
  /// The kind of the read. It decides how many neighbours the next read includes.
  enum Origin {
    /// A fetch. A walk over its records may follow.
    case fetch
    /// A read of members of relationships, in the middle of a walk.
    case members
    /// A read of the targets of a to-one relationship of another group's records.
    case targets
  }

  /// The number of faults of a fetch to load together.
  static let faultWindow = 256
  /// The number of neighbours in the first window, the factor from window to window, and the greatest window.
  private static let (first, step, most) = (64, 16, 16_384)

  let number: UInt32
  let origin: Origin
  fileprivate(set) var ids: [ManagedObjectID] = []
  /// The latest window of each relationship.
  private var windows: [RelationshipDescription: Window] = [:]

  /// The neighbours for which one read of a relationship asks.
  private struct Window {
    /// The number of neighbours.
    var size: Int
    /// The argument `unit` of the latest call of ``window(at:for:unit:budget:)``.
    var unit: Int
    /// The average number of members of an owner in the latest read.
    var members = 1
  }

  fileprivate init(number: UInt32, origin: Origin) {
    self.number = number
    self.origin = origin
  }

  /// Adds the records of rows, in the order of their objects.
  func add(_ rows: [Row]) {
    if ids.isEmpty { ids.reserveCapacity(rows.count) }
    rows.forEachBorrowed { ids.append($0.id) }
  }

  /// The memory of the group, in records. The overhead of a group counts as 16 records.
  fileprivate var weight: Int { ids.count + 16 }

  /// The number of records, which is also the index of the next record.
  var count: Int { ids.count }

  /// Adds a record without a row.
  ///
  /// - Returns: The record's index.
  func add(_ id: ManagedObjectID) -> UInt32 {
    ids.append(id)
    return UInt32(ids.count - 1)
  }

  /// The records whose faults are loaded together with the fault at an index.
  func faults(at index: Int) -> ArraySlice<ManagedObjectID> {
    guard origin == .fetch else { return ids[...] }
    let start = index / Self.faultWindow * Self.faultWindow
    return ids[start..<min(start + Self.faultWindow, ids.count)]
  }

  /// The records of the section around an index, if the group is divided into sections of a size.
  func section(at index: Int, size: Int) -> ArraySlice<ManagedObjectID> {
    let start = index / size * size
    return ids[start..<min(start + size, ids.count)]
  }

  /// Returns the neighbours for which a relationship is read together with a record: few at first, more while the walk
  /// continues. All records of a section of the group get the same neighbours, so that a walk may have any order.
  ///
  /// - Parameters:
  ///   - unit: A number that changes when lists are dropped. A walk that saves at each step drops the lists each time,
  ///     and gets no neighbours.
  ///   - budget: The greatest number of members that one read may return.
  func window(
    at index: Int, for relationship: RelationshipDescription, unit: Int, budget: Int
  ) -> ArraySlice<ManagedObjectID> {
    var window = nextWindow(at: index, for: relationship, unit: unit)
    let size = max(1, min(window.size, budget / window.members))
    window.unit = unit
    windows[relationship] = window
    let start = index / size * size
    return ids[start..<min(start + size, ids.count)]
  }

  private func nextWindow(at index: Int, for relationship: RelationshipDescription, unit: Int) -> Window {
    guard var window = windows[relationship] else {
      // A walk usually begins at the first record. A program that begins at another record probably needs only that
      // record.
      return Window(size: origin != .fetch ? Self.first * Self.step : index == 0 ? Self.first : 1, unit: unit)
    }
    if window.unit != unit {
      window.size = 1
    } else {
      window.size = window.size < Self.first ? Self.first : min(window.size * Self.step, Self.most)
    }
    return window
  }

  /// Records the number of members of owners, for the size of the next window.
  func note(members: Int, of owners: Int, for relationship: RelationshipDescription) {
    windows[relationship]?.members = max(1, members / max(1, owners))
  }
}

/// The groups of a context. Beyond a bound, the earliest groups are dropped: relationships of their records are then
/// read record by record.
struct FetchGroups {
  /// The greatest number of records in all groups but the latest.
  static let limit = 262_144

  private var groups: [UInt32: FetchGroup] = [:]
  private var order: [UInt32] = []
  private var total = 0
  private var last: UInt32 = 0

  /// Makes a group. The caller adds the records, and then calls ``enter(_:)``.
  mutating func make(_ origin: FetchGroup.Origin) -> FetchGroup {
    last &+= 1
    // Zero stands for no group.
    if last == 0 { last = 1 }
    return FetchGroup(number: last, origin: origin)
  }

  /// Adds a group with all its records. A single record has no neighbours and needs no group.
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
    // A drop removes half of the records, so that its cost is spread over many later groups.
    while total > Self.limit / 2, dropped < order.count - 1 {
      if let group = groups.removeValue(forKey: order[dropped]) { total -= group.weight }
      dropped += 1
    }
    order.removeFirst(dropped)
  }

  /// The group of the read that returned an object; `nil` for none, and for a dropped group.
  func group(of object: ManagedObject) -> FetchGroup? {
    guard let group = groups[object.groupNumber], Int(object.groupIndex) < group.count,
      group.ids[Int(object.groupIndex)] == object.recordID
    else { return nil }
    return group
  }

  mutating func removeAll() {
    groups = [:]
    order = []
    total = 0
  }
}
