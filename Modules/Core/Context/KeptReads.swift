import Synchronization

/// What a context has come by through relationships, kept until its unit of work ends so that nothing is read twice. Used
/// by the context's owner alone.
///
/// A unit of work is the outermost `perform`; for a context of the main actor, which is used without `perform`, the turn of
/// the main queue; for a context of a thread, what lies between two fetches. Without a `perform` nothing holds a state of
/// the stores, so that what was kept is dropped there as soon as any context of the coordinator has saved.
///
/// Of more objects than ``limit`` the earliest are released. What one read brought stays together.
final class KeptReads {
  /// How many objects are kept, beside those of the last read.
  static let limit = 32_768

  private var young: [ManagedObject] = []
  private var old: [ManagedObject] = []
  /// How many objects `young` takes before the older ones are released.
  private var bound = limit / 2
  /// Targets of to-one relationships by identifier: the addresses of objects that `young` or `old` keeps.
  @exclusivity(unchecked) private var targets = IDTable()
  /// Members that were read along for owners whom nobody has asked yet, as the store has them.
  private var lists: [RelationshipDescription: [ManagedObjectID: KeptList]] = [:]
  /// The saves that what is kept may not outlast; `nil` where a lease holds the stores' state.
  private var saves: SaveCount?
  /// How many saves there had been.
  private(set) var seenSaves = 0
  @exclusivity(unchecked) private var isWatching = false
  private var isCalm: Bool { saves.map { $0.value == seenSaves } != false }

  /// What the lists belong to: the number of the lease that read them.
  private var listLease = 0
  /// Rises when everything is dropped.
  private(set) var drops = 0
  /// Whether nobody has arranged for the end of the unit.
  var needsEnd = true
  /// Whether all that one read brings is wanted as objects, however much it is.
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

  /// Drops what a save of any context has overtaken.
  func dropIfOvertaken() { if !isCalm { removeAll() } }

  // MARK: Objects

  /// A target of a to-one relationship.
  @inline(__always) func target(_ id: ManagedObjectID) -> ManagedObject? {
    // What is in the table is in `young` or `old`.
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

  /// Keeps an object that a to-one relationship leads to. One with a temporary identifier, which will change, is kept by
  /// what is to be saved.
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

  /// Keeps members that were read along with another owner's.
  func keep(_ list: KeptList, of relationship: RelationshipDescription, owner: ManagedObjectID) {
    lists[relationship, default: [:]][owner] = list
  }

  func hasList(of relationship: RelationshipDescription, owner: ManagedObjectID) -> Bool {
    lists[relationship]?[owner] != nil
  }

  /// The members that were read along. Answered once: the owner keeps them from then on.
  func takeList(of relationship: RelationshipDescription, owner: ManagedObjectID) -> KeptList? {
    lists[relationship]?.removeValue(forKey: owner)
  }

  /// Members that nobody has asked for.
  func waitingLists(of relationship: RelationshipDescription) -> some Collection<KeptList> {
    lists[relationship, default: [:]].values
  }

  func outdateLists(of relationship: RelationshipDescription) {
    lists[relationship] = nil
  }

  func outdateLists() { lists = [:] }
}

/// Members of a to-many relationship that were read along with those of another owner.
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
