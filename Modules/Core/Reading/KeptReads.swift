import Synchronization

/// The objects and lists that relationships led a context to, kept until its unit of work ends, so that a record is read
/// once. Used by the context's owner alone.
///
/// A unit of work is the outermost `perform`. A context of the main actor is used without `perform`: its unit is the turn of
/// the main queue. A context of a thread begins another unit with each fetch. Outside of `perform` no reader holds a state
/// of the stores, and therefore a save by any context of the coordinator empties this memory there.
///
/// Beyond ``limit`` objects the earliest are released. The objects of one read stay together.
final class KeptReads {
  /// How many objects are kept, beside those of the last read.
  static let limit = 32_768

  private var young: [ManagedObject] = []
  private var old: [ManagedObject] = []
  /// The number of objects in `young` at which the older objects are released.
  private var bound = limit / 2
  /// Targets of to-one relationships by identifier: the addresses of objects that `young` or `old` keeps.
  @exclusivity(unchecked) private var targets = IDTable()
  /// The members of owners not asked yet, as the store has them. A neighbour's read brought them.
  private var lists: [RelationshipDescription: [ManagedObjectID: KeptList]] = [:]
  /// The count of the saves that end the unit; `nil` where a lease holds the stores' state.
  private var saves: SaveCount?
  /// The count at the beginning of the unit.
  private(set) var seenSaves = 0
  @exclusivity(unchecked) private var isWatching = false
  private var isCalm: Bool { saves.map { $0.value == seenSaves } != false }

  /// The number of the lease that read the lists.
  private var listLease = 0
  /// Rises when everything is dropped.
  private(set) var drops = 0
  /// Whether the end of the unit is still to be arranged.
  var needsEnd = true
  /// Whether every row of a read becomes an object, without a limit on their number.
  private(set) var isUnbounded = false

  /// Whether nothing is kept.
  var isEmpty: Bool { young.isEmpty && old.isEmpty && lists.isEmpty }

  /// Begins a unit that ends with the next save of any context.
  func begin(watching count: SaveCount) {
    saves = count
    seenSaves = count.value
    isWatching = true
  }

  /// Drops lists of another lease than the present one.
  @inline(__always) func belong(to lease: Int) {
    guard listLease != lease else { return }
    listLease = lease
    outdateLists()
  }

  /// Runs a block whose reads are wanted as objects.
  func unbounded<T>(_ body: () throws -> T) rethrows -> T {
    let outer = isUnbounded
    isUnbounded = true
    defer { isUnbounded = outer }
    return try body()
  }

  /// Drops everything if any context has saved since the unit began.
  func dropIfOvertaken() { if !isCalm { removeAll() } }

  // MARK: Objects

  /// A target of a to-one relationship.
  @inline(__always) func target(_ id: ManagedObjectID) -> ManagedObject? {
    // An object of the table is in `young` or `old`.
    guard let address = UnsafeRawPointer(bitPattern: targets[id]), !isWatching || isCalm else { return nil }
    return Unmanaged<ManagedObject>.fromOpaque(address).takeUnretainedValue()
  }

  /// Keeps objects that one read brought.
  func keep(_ objects: [ManagedObject]) {
    guard !objects.isEmpty else { return }
    if young.count >= bound { releaseOldest() }
    bound = max(Self.limit / 2, objects.count)
    if young.isEmpty { young = objects } else { young += objects }
  }

  /// Keeps the target of a to-one relationship. An unsaved target is left out: its identifier will change, and its
  /// pending record keeps it.
  func keep(target object: ManagedObject) {
    guard !object.id.isTemporaryID, targets[object.id] == 0 else { return }
    if young.count >= bound { releaseOldest() }
    targets.set(Self.word(object), for: object.id)
    young.append(object)
  }

  func keep(targets objects: [ManagedObject]) {
    keep(objects)
    for object in objects where !object.id.isTemporaryID { targets.set(Self.word(object), for: object.id) }
  }

  /// Stops handing an object out that leaves the context.
  func forget(_ object: ManagedObject) { targets.remove(object.id, ifWord: Self.word(object)) }

  private func releaseOldest() {
    for object in old { forget(object) }
    let released = old
    old = young
    young = []
    // Objects may go here, which take themselves out of the registry.
    withExtendedLifetime(released) {}
  }

  /// Drops everything.
  func removeAll() {
    let released = (young, old)
    targets.removeAll()
    young = []
    old = []
    bound = Self.limit / 2
    saves = nil
    isWatching = false
    needsEnd = true
    drops += 1
    outdateLists()
    withExtendedLifetime(released) {}
  }

  private static func word(_ object: ManagedObject) -> UInt {
    UInt(bitPattern: Unmanaged.passUnretained(object).toOpaque())
  }

  // MARK: Members

  /// Keeps the members of an owner not asked yet.
  func keep(_ list: KeptList, of relationship: RelationshipDescription, owner: ManagedObjectID) {
    lists[relationship, default: [:]][owner] = list
  }

  func hasList(of relationship: RelationshipDescription, owner: ManagedObjectID) -> Bool {
    lists[relationship]?[owner] != nil
  }

  /// Hands the members of an owner over, which keeps them from then on.
  func takeList(of relationship: RelationshipDescription, owner: ManagedObjectID) -> KeptList? {
    lists[relationship]?.removeValue(forKey: owner)
  }

  /// The lists of all owners not asked yet.
  func waitingLists(of relationship: RelationshipDescription) -> some Collection<KeptList> {
    lists[relationship, default: [:]].values
  }

  func outdateLists(of relationship: RelationshipDescription) {
    lists[relationship] = nil
  }

  func outdateLists() { lists = [:] }
}

/// The members of an owner, read together with those of a neighbour.
struct KeptList {
  let ids: [ManagedObjectID]
  /// The version of the owner's row when the members were read; `nil` for a fault.
  let version: Int64?
}

/// How often contexts of a coordinator have saved.
final class SaveCount: Sendable {
  private let count = Atomic<Int>(0)
  @inline(__always) var value: Int { count.load(ordering: .acquiring) }
  func rise() { count.add(1, ordering: .acquiringAndReleasing) }
}
