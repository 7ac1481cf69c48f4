import Testing

@testable import CoherenceCore

/// The objects, lists and counts that a context retains during a unit of work.
@Suite struct RetainedReadsTests {
  private let staff: StaffModel
  private let clubs: RelationshipDescription
  private let pupils: RelationshipDescription
  private let reads = RetainedReads()

  init() throws {
    let staff = try StaffModel()
    self.staff = staff
    clubs = try #require(staff.person.relationship(named: "clubs"))
    pupils = try #require(staff.person.relationship(named: "pupils"))
  }

  private func id(_ key: Int64) -> ManagedObjectID { staff.id(staff.person, key) }

  /// An object with a permanent identifier.
  private func object(_ key: Int64) -> ManagedObject {
    let object = ManagedObject(entity: staff.person, insertInto: nil)
    object.recordID = id(key)
    return object
  }

  // MARK: Objects

  @Test func `the target of a relationship is found until it leaves the context, and an unsaved one never`() {
    let (target, unsaved) = (object(1), ManagedObject(entity: staff.person, insertInto: nil))
    reads.retain(target: target)
    reads.retain(target: unsaved)
    reads.retain(targets: [object(2), unsaved])
    #expect(reads.target(id(1)) === target)
    #expect(reads.target(id(2)) != nil)
    #expect(reads.target(id(3)) == nil)
    #expect(reads.target(unsaved.recordID) == nil)
    reads.removeTarget(target)
    #expect(reads.target(id(1)) == nil)
    reads.checkInvariants()
    reads.removeAll()
    #expect(reads.target(id(2)) == nil)
    #expect(reads.isEmpty)
  }

  @Test func `a save ends a unit without a lease, and its objects`() {
    let saves = SaveCount()
    saves.rise()
    reads.begin(watching: saves)
    #expect(reads.seenSaves == 1)
    reads.retain(target: object(1))
    reads.dropIfOutdated()
    #expect(reads.target(id(1)) != nil)
    #expect(reads.drops == 0)
    saves.rise()
    #expect(reads.target(id(1)) == nil)
    #expect(!reads.isEmpty)
    reads.dropIfOutdated()
    #expect(reads.isEmpty)
    #expect(reads.drops == 1)
    // Without a unit no save matters.
    reads.retain(target: object(1))
    saves.rise()
    reads.dropIfOutdated()
    #expect(reads.target(id(1)) != nil)
  }

  @Test func `only a save of the main actor ends a unit with a lease`() {
    let saves = SaveCount()
    reads.retain(target: object(1))
    reads.beginLeased(watching: saves)
    #expect(reads.isEmpty)
    reads.retain(target: object(2))
    saves.rise()
    #expect(reads.target(id(2)) != nil)
    saves.riseOfMain()
    #expect(reads.target(id(2)) == nil)
    reads.beginLeased(watching: nil)
    reads.retain(target: object(3))
    #expect(reads.target(id(3)) != nil)
  }

  @Test func `the objects read first are released above the limit`() {
    weak var first: ManagedObject?
    do {
      let object = object(1)
      first = object
      reads.retain(target: object)
    }
    let filler = Array(repeating: object(2), count: RetainedReads.limit / 2)
    reads.retain(filler)
    reads.retain(target: object(3))
    #expect(first != nil)
    #expect(reads.target(id(1)) != nil)
    reads.retain(filler)
    reads.retain([object(4)])
    #expect(first == nil)
    #expect(reads.target(id(1)) == nil)
    #expect(reads.target(id(3)) != nil)
    reads.checkInvariants()
  }

  @Test func `the rows of a read become objects without a limit in a nested block too`() {
    #expect(!reads.isUnbounded)
    reads.unbounded {
      reads.unbounded { #expect(reads.isUnbounded) }
      #expect(reads.isUnbounded)
    }
    #expect(!reads.isUnbounded)
  }

  // MARK: Members

  private func list(_ keys: Int64...) -> ReadAheadList { ReadAheadList(ids: keys.map(id), version: 1) }

  @Test func `a list is retained until its owner takes it`() {
    reads.retain(list(2, 3), of: clubs, owner: id(1))
    #expect(!reads.isEmpty)
    #expect(reads.hasList(of: clubs, owner: id(1)))
    #expect(!reads.hasList(of: clubs, owner: id(2)))
    #expect(!reads.hasList(of: pupils, owner: id(1)))
    #expect(reads.waitingLists(of: clubs).count == 1)
    #expect(reads.takeList(of: clubs, owner: id(1))?.ids == [id(2), id(3)])
    #expect(reads.takeList(of: clubs, owner: id(1)) == nil)
  }

  @Test func `the invalidation of one relationship leaves the lists, counts and look-ups of another`()
    throws
  {
    let store = try #require(id(1).storeIdentifier)
    for relationship in [clubs, pupils] {
      reads.retain(list(2), of: relationship, owner: id(1))
      reads.retain(count: 5, of: relationship, owner: id(1))
      reads.retain(LeftOutCounts(store: store, records: []), of: relationship)
      for _ in 0..<8 { _ = reads.mayLookUp(of: relationship, owner: id(1)) }
    }
    reads.invalidateLists(of: clubs)
    for (relationship, isKept) in [(clubs, false), (pupils, true)] {
      #expect(reads.hasList(of: relationship, owner: id(1)) == isKept)
      #expect((reads.count(of: relationship, owner: id(1)) != nil) == isKept)
      #expect((reads.leftOutCounts(of: relationship, [], in: store) != nil) == isKept)
      #expect(reads.mayLookUp(of: relationship, owner: id(1)) == !isKept)
    }
    reads.invalidateLists()
    #expect(reads.isEmpty)
  }

  @Test func `lists of an earlier lease are dropped once`() {
    reads.dropLists(unlessReadUnder: 1)
    reads.retain(list(2), of: clubs, owner: id(1))
    reads.dropLists(unlessReadUnder: 1)
    #expect(reads.hasList(of: clubs, owner: id(1)))
    reads.dropLists(unlessReadUnder: 2)
    #expect(reads.isEmpty)
  }

  @Test func `the average of counted members follows a changed count`() {
    #expect(reads.averageCount(of: clubs) == 0)
    reads.retain(count: 3, of: clubs, owner: id(1))
    #expect(!reads.isEmpty)
    reads.retain(count: 6, of: clubs, owner: id(2))
    #expect(reads.averageCount(of: clubs) == 4)
    reads.retain(count: 0, of: clubs, owner: id(2))
    #expect(reads.averageCount(of: clubs) == 1)
    #expect(reads.count(of: clubs, owner: id(2)) == 0)
    #expect(reads.count(of: clubs, owner: id(3)) == nil)
  }

  @Test func `counts of left out members are valid for the same records of the same store alone`() throws {
    let store = try #require(id(1).storeIdentifier)
    reads.retain(LeftOutCounts(store: store, records: [id(1)], byOwner: [7: 2]), of: clubs)
    #expect(!reads.isEmpty)
    #expect(reads.leftOutCounts(of: clubs, [id(1)], in: store)?.byOwner == [7: 2])
    #expect(reads.leftOutCounts(of: clubs, [id(1), id(2)], in: store) == nil)
    #expect(reads.leftOutCounts(of: clubs, [id(1)], in: StoreIdentifier("other")) == nil)
    #expect(reads.leftOutCounts(of: pupils, [id(1)], in: store) == nil)
  }

  @Test func `after eight look-ups of members in one list the list is read, and after eight owners many lists`() {
    for _ in 0..<8 { #expect(reads.mayLookUp(of: clubs, owner: id(1))) }
    #expect(!reads.mayLookUp(of: clubs, owner: id(1)))
    #expect(reads.mayLookUp(of: pupils, owner: id(1)))
    for key in 2...7 { #expect(reads.mayLookUp(of: clubs, owner: id(Int64(key)))) }
    #expect(!reads.hasManyLookups(of: clubs))
    #expect(reads.mayLookUp(of: clubs, owner: id(8)))
    #expect(reads.hasManyLookups(of: clubs))
    #expect(!reads.isEmpty)
  }
}
