/// The objects and member lists that a context has read over relationships, retained until its unit of work ends, so
/// that each record is read once. Only the context's owner uses it.
///
/// A unit of work is the outermost `perform`. Without `perform`, the unit of a main-queue context is the turn of the
/// main queue, see ``MainTurn``. A thread's context begins another unit with each fetch, and so does a main-queue
/// context in code that never returns to the main queue. In such a unit no reader holds one state of the stores, so
/// that a save by any context of the coordinator drops the objects and lists.
///
/// Beyond ``limit`` objects, the objects read first are released. Objects of one read are released together.
final class RetainedReads {
  // Invariant, see `checkInvariants`: every word of `targets` is the address of an object in `newerObjects` or
  // `olderObjects`. An object's target is therefore removed before its last reference is released, under the identifier
  // by which it was entered.
  // Safety of `Unmanaged`: `newerObjects` or `olderObjects` keeps each object whose address is in `targets`.
  // Safety of `@exclusivity(unchecked)`: the owner of the context alone uses these objects, and its accesses follow each
  // other.

  /// The greatest number of retained objects, without the objects of the last read.
  static let limit = 32_768

  // Two generations. When `newerObjects` is full, the objects in `olderObjects` are released, and the newer objects
  // become the older ones.
  private var newerObjects: [ManagedObject] = []
  private var olderObjects: [ManagedObject] = []
  /// The number of objects in `newerObjects` at which the older objects are released.
  private var bound = limit / 2
  /// The targets of to-one relationships by identifier: the addresses of objects that `newerObjects` or `olderObjects`
  /// retains.
  @exclusivity(unchecked) private var targets = IDTable()
  /// The saved members of owners, read together with a neighbour's members, until the owner's object needs them.
  private var lists: [RelationshipDescription: [ManagedObjectID: ReadAheadList]] = [:]
  /// The numbers of saved members of owners, counted together with a neighbour's members.
  private var counts: [RelationshipDescription: ReadAheadCounts] = [:]
  /// The numbers of saved members of owners among the records that the context leaves out of all lists.
  private var leftOutCounts: [RelationshipDescription: LeftOutCounts] = [:]
  /// The number of look-ups of single members in the store, by owner.
  private var lookups: [RelationshipDescription: [ManagedObjectID: Int]] = [:]
  /// The counter of the saves that end the unit; `nil` where a lease holds the stores' state.
  private var saves: SaveCount?
  /// The count of saves at the beginning of the unit.
  private(set) var seenSaves = 0
  /// Whether a save may end the unit, so that each use of `targets` compares the counts of saves.
  @exclusivity(unchecked) private var isWatching = false
  /// The count of the main actor's saves at the beginning of a unit that only such saves end; `nil` for other units.
  private var seenSavesOfMain: Int?
  /// Whether no save has ended the unit.
  private var isCurrent: Bool {
    guard let saves else { return true }
    if let seenSavesOfMain { return saves.valueOfMain == seenSavesOfMain }
    return saves.value == seenSaves
  }

  /// The number of the lease under which the lists were read.
  private var listLease = 0
  /// The number of calls of ``removeAll()``.
  private(set) var drops = 0
  /// Whether the end of the unit still has to be scheduled.
  var needsEnd = true
  /// Whether every row of a read becomes an object, without a limit on the number of objects.
  private(set) var isUnbounded = false

  /// Whether nothing is retained.
  var isEmpty: Bool {
    newerObjects.isEmpty && olderObjects.isEmpty && lists.isEmpty && counts.isEmpty && leftOutCounts.isEmpty
      && lookups.isEmpty
  }

  /// Begins a unit that ends with the next save of any context.
  func begin(watching count: SaveCount) {
    saves = count
    seenSaves = count.value
    isWatching = true
  }

  /// Begins a unit whose reads are of one lease, until the main actor saves.
  func beginLeased(watching count: SaveCount?) {
    if isWatching || !isEmpty { removeAll() }
    saves = count
    seenSavesOfMain = count?.valueOfMain
    isWatching = count != nil
  }

  /// Drops the lists if they were read under another lease.
  @inline(__always) func dropLists(unlessReadUnder lease: Int) {
    guard listLease != lease else { return }
    listLease = lease
    invalidateLists()
  }

  /// Runs a block in which every row read becomes an object.
  func unbounded<T>(_ body: () throws -> T) rethrows -> T {
    let outer = isUnbounded
    isUnbounded = true
    defer { isUnbounded = outer }
    return try body()
  }

  /// Drops everything if a save has ended the unit.
  func dropIfOutdated() { if !isCurrent { removeAll() } }

  // MARK: Objects

  /// The retained target of a to-one relationship.
  @inline(__always) func target(_ id: ManagedObjectID) -> ManagedObject? {
    // `newerObjects` or `olderObjects` retains every object of the table.
    guard let address = UnsafeRawPointer(bitPattern: targets[id]), !isWatching || isCurrent else { return nil }
    return Unmanaged<ManagedObject>.fromOpaque(address).takeUnretainedValue()
  }

  /// Retains the objects of one read.
  func retain(_ objects: [ManagedObject]) {
    guard !objects.isEmpty else { return }
    if newerObjects.count >= bound { releaseOldest() }
    bound = max(Self.limit / 2, objects.count)
    if newerObjects.isEmpty { newerObjects = objects } else { newerObjects += objects }
  }

  /// Retains the target of a to-one relationship. An unsaved target is left out: its identifier will change, and its
  /// pending record retains it.
  func retain(target object: ManagedObject) {
    guard !object.recordID.isTemporaryID, targets[object.recordID] == 0 else { return }
    if newerObjects.count >= bound { releaseOldest() }
    targets.set(Self.word(object), for: object.recordID)
    newerObjects.append(object)
  }

  /// Retains the targets of a to-one relationship that one read returned.
  func retain(targets objects: [ManagedObject]) {
    retain(objects)
    for object in objects where !object.recordID.isTemporaryID { targets.set(Self.word(object), for: object.recordID) }
  }

  /// Removes an object that leaves the context from the targets.
  func removeTarget(_ object: ManagedObject) { targets.remove(object.recordID, ifWord: Self.word(object)) }

  private func releaseOldest() {
    for object in olderObjects { removeTarget(object) }
    let released = olderObjects
    olderObjects = newerObjects
    newerObjects = []
    // The last references may be released here. A released object removes itself from the registry.
    withExtendedLifetime(released) {}
  }

  /// Drops everything.
  func removeAll() {
    let released = (newerObjects, olderObjects)
    targets.removeAll()
    newerObjects = []
    olderObjects = []
    bound = Self.limit / 2
    saves = nil
    seenSavesOfMain = nil
    isWatching = false
    needsEnd = true
    drops += 1
    invalidateLists()
    withExtendedLifetime(released) {}
  }

  /// Ends a debug build if the invariant of the targets does not hold.
  func checkInvariants() {
    targets.checkInvariants()
    let retained = Set((newerObjects + olderObjects).map(Self.word))
    targets.forEach { word in assert(retained.contains(word), "Every target is retained by one of the two generations.")
    }
  }

  private static func word(_ object: ManagedObject) -> UInt {
    UInt(bitPattern: Unmanaged.passUnretained(object).toOpaque())
  }

  // MARK: Members

  /// Retains the members of an owner until the owner needs them.
  func retain(_ list: ReadAheadList, of relationship: RelationshipDescription, owner: ManagedObjectID) {
    lists[relationship, default: [:]][owner] = list
  }

  func hasList(of relationship: RelationshipDescription, owner: ManagedObjectID) -> Bool {
    lists[relationship]?[owner] != nil
  }

  /// Removes and returns the members of an owner.
  func takeList(of relationship: RelationshipDescription, owner: ManagedObjectID) -> ReadAheadList? {
    lists[relationship]?.removeValue(forKey: owner)
  }

  /// The retained lists, which no owner has taken yet.
  func waitingLists(of relationship: RelationshipDescription) -> some Collection<ReadAheadList> {
    lists[relationship, default: [:]].values
  }

  func invalidateLists(of relationship: RelationshipDescription) {
    lists[relationship] = nil
    counts[relationship] = nil
    leftOutCounts[relationship] = nil
    lookups[relationship] = nil
  }

  func invalidateLists() {
    lists = [:]
    counts = [:]
    leftOutCounts = [:]
    lookups = [:]
  }

  // MARK: Numbers of members

  /// The number of saved members of an owner; `nil` if it was not counted.
  func count(of relationship: RelationshipDescription, owner: ManagedObjectID) -> Int? {
    counts[relationship]?.byOwner[owner]
  }

  /// The average number of saved members of the counted owners, rounded down.
  func averageCount(of relationship: RelationshipDescription) -> Int { counts[relationship]?.average ?? 0 }

  /// Retains the number of saved members of an owner.
  func retain(count: Int, of relationship: RelationshipDescription, owner: ManagedObjectID) {
    counts[relationship, default: ReadAheadCounts()].add(count, of: owner)
  }

  /// The numbers of saved members among records that the context leaves out; `nil` if they were not counted for exactly
  /// these records of the store.
  func leftOutCounts(
    of relationship: RelationshipDescription, _ records: Set<ManagedObjectID>, in store: StoreIdentifier
  ) -> LeftOutCounts? {
    guard let kept = leftOutCounts[relationship], kept.store == store, kept.records == records else { return nil }
    return kept
  }

  func retain(_ counts: LeftOutCounts, of relationship: RelationshipDescription) {
    leftOutCounts[relationship] = counts
  }

  /// Counts a look-up of a single member.
  ///
  /// - Returns: Whether the member may be looked up in the store. After many look-ups in one relationship, a read of
  ///   the whole list is cheaper.
  func mayLookUp(of relationship: RelationshipDescription, owner: ManagedObjectID) -> Bool {
    let count = lookups[relationship]?[owner] ?? 0
    guard count < Self.greatestLookups else { return false }
    lookups[relationship, default: [:]][owner] = count + 1
    return true
  }

  /// Whether single members were looked up in the lists of many owners.
  func hasManyLookups(of relationship: RelationshipDescription) -> Bool {
    (lookups[relationship]?.count ?? 0) >= Self.greatestLookups
  }

  /// The greatest number of look-ups of single members of one owner in a unit of work, and the number of owners after
  /// which short lists are read for many owners together.
  private static let greatestLookups = 8
}

/// The numbers of saved members of owners.
private struct ReadAheadCounts {
  private(set) var byOwner: [ManagedObjectID: Int] = [:]
  private var total = 0

  mutating func add(_ count: Int, of owner: ManagedObjectID) {
    total += count - (byOwner.updateValue(count, forKey: owner) ?? 0)
  }

  var average: Int { byOwner.isEmpty ? 0 : total / byOwner.count }
}

/// The numbers of saved members of owners among some records.
struct LeftOutCounts {
  let store: StoreIdentifier
  let records: Set<ManagedObjectID>
  /// The numbers by the key of the owner, without zeros.
  var byOwner: [Int64: Int] = [:]
}

/// The members of an owner, read together with a neighbour's members.
struct ReadAheadList {
  let ids: [ManagedObjectID]
  /// The version of the owner's row when the members were read; `nil` for a fault.
  let version: Int64?
}
