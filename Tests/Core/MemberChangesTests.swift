import TestRandom
import Testing

@testable import CoherenceCore

/// The unsaved changes of the members of one relationship, as values.
@Suite struct MemberChangesTests {
  private let entity: EntityDescription
  private let space: IDSpace

  init() throws {
    let model = try ManagedObjectModel { Entity("Thing") { Attribute("name", .string) } }
    entity = try model.entity(named: "Thing")
    space = IDSpaces(store: StoreIdentifier("members"), model: model)[entity]
  }

  private func id(_ key: Int) -> ManagedObjectID { ManagedObjectID(space: space, key: Int64(key)) }
  private func ids(_ keys: Int...) -> [ManagedObjectID] { keys.map(id) }

  // MARK: Additions and removals

  @Test func `a removed member added again is no change, and comes last in an ordered list`() {
    var changes = MemberChanges()
    changes.remove(id(1))
    #expect(changes.contains(id(1)) == false)
    changes.add(id(1), comesLast: false)
    #expect(changes.isEmpty)
    #expect(changes.contains(id(1)) == nil)
    changes.remove(id(1))
    changes.add(id(1), comesLast: true)
    #expect(changes.contains(id(1)) == true)
    #expect(changes.applied(to: ids(1, 2)) == ids(2, 1))
  }

  @Test func `a removed member added again is an addition, if another writer removed the member too`() {
    var changes = MemberChanges()
    changes.remove(id(1))
    changes.add(id(1), comesLast: false, isStored: false)
    #expect(changes.added == ids(1))
    #expect(changes.removed.isEmpty)
    #expect(changes.applied(to: ids(2)) == ids(2, 1))
  }

  @Test func `an added member is removed without a trace, unless another writer has added it too`() {
    var changes = MemberChanges()
    changes.add(id(1), comesLast: false)
    changes.remove(id(1))
    #expect(changes.isEmpty)
    changes.add(id(1), comesLast: false)
    changes.remove(id(1), isStored: true)
    #expect(changes.added.isEmpty)
    #expect(changes.removed == [id(1)])
    #expect(changes.applied(to: ids(1, 2)) == ids(2))
  }

  @Test func `only an unsaved record outside of the list below the changes is no removed member`() {
    let unsaved = ManagedObjectID.temporary(for: entity)
    var changes = MemberChanges()
    changes.begin(at: ListOrigin(version: 1, ids: ids(1)))
    changes.remove(unsaved)
    #expect(changes.isEmpty)
    changes.remove(id(2))
    #expect(changes.removed == [id(2)])
    var listing = MemberChanges()
    listing.begin(at: ListOrigin(version: 1, ids: [unsaved]))
    listing.remove(unsaved)
    #expect(listing.removed == [unsaved])
    var unread = MemberChanges()
    unread.remove(unsaved)
    #expect(unread.removed == [unsaved])
  }

  @Test func `a member that two writers add is in the list once`() {
    var changes = MemberChanges()
    changes.add(id(1), comesLast: true)
    changes.add(id(3), comesLast: true)
    changes.add(id(1), comesLast: true)
    #expect(changes.addedCount == 2)
    #expect(changes.applied(to: ids(1, 2)) == ids(1, 2, 3))
  }

  // MARK: The list below the changes

  @Test func `changes are based on the oldest list, which a list of its version without members does not replace`() {
    var changes = MemberChanges()
    changes.begin(at: ListOrigin(version: 2, ids: ids(8)))
    changes.begin(at: ListOrigin(version: 3, ids: ids(1)))
    #expect(changes.origin?.version == 3)
    changes.add(id(2), comesLast: true)
    changes.begin(at: ListOrigin(version: 5, ids: ids(9)))
    #expect(changes.origin?.version == 3)
    changes.begin(at: ListOrigin(version: 3, ids: ids(9)))
    #expect(changes.origin?.ids == ids(1))
    changes.begin(at: ListOrigin(version: 2, ids: nil))
    #expect(changes.origin?.version == 2)
    #expect(changes.origin?.ids == nil)
    changes.begin(at: ListOrigin(version: 2, ids: ids(4)))
    #expect(changes.origin?.ids == ids(4))
  }

  @Test func `a move to another version keeps the members only if that version has the same`() {
    var changes = MemberChanges()
    changes.move(toVersion: 4, keepingMembers: true)
    #expect(changes.origin == nil)
    changes.begin(at: ListOrigin(version: 1, ids: ids(1)))
    changes.move(toVersion: 4, keepingMembers: true)
    #expect(changes.origin?.version == 4)
    #expect(changes.origin?.ids == ids(1))
    changes.move(toVersion: 5, keepingMembers: false)
    #expect(changes.origin?.version == 5)
    #expect(changes.origin?.ids == nil)
  }

  // MARK: Order

  @Test func `an order is a change until the former order of the same members returns`() {
    var changes = MemberChanges()
    changes.begin(at: ListOrigin(version: 1, ids: ids(1, 2)))
    changes.apply(.order(ids(2, 1)), isOrdered: true)
    #expect(!changes.isEmpty)
    #expect(!changes.keepsPositions)
    changes.apply(.order(ids(1, 2)), isOrdered: true)
    #expect(changes.isEmpty)
    #expect(changes.keepsPositions)
    changes.apply(.replace(ids(1, 2), by: ids(1, 2, 3)), isOrdered: true)
    #expect(changes.order == ids(1, 2, 3))
    #expect(changes.added == ids(3))
  }

  @Test func `a member is added last, unless an order has the member already or others have added members`() {
    var changes = MemberChanges()
    #expect(changes.addsLast(id(9), behind: id(1)))
    changes.begin(at: ListOrigin(version: 1, ids: ids(1, 2, 3)))
    changes.apply(.order(ids(3, 1, 2)), isOrdered: true)
    #expect(changes.addsLast(id(9), behind: id(2)))
    // Another writer has removed the member 3 and added the member 4.
    #expect(changes.applied(to: ids(1, 2, 4)) == ids(1, 2, 4))
    #expect(!changes.addsLast(id(3), behind: id(2)))
    #expect(!changes.addsLast(id(9), behind: id(4)))
    changes.apply(.add(id(9)), isOrdered: true)
    #expect(changes.applied(to: ids(1, 2, 4)) == ids(1, 2, 9, 4))
  }

  @Test func `a replaced list has the removals of members left out and the additions of members taken in`() {
    var changes = MemberChanges()
    changes.begin(at: ListOrigin(version: 1, ids: ids(1, 2)))
    changes.apply(.replace(ids(1, 2), by: ids(3, 2)), isOrdered: true)
    #expect(changes.removed == [id(1)])
    #expect(changes.added == ids(3))
    #expect(changes.applied(to: ids(1, 2)) == ids(3, 2))
    changes.apply(.replace(ids(3, 2), by: ids(1, 2)), isOrdered: true)
    #expect(changes.isEmpty)
  }

  @Test func `an order is applied to the members of another writer, whose additions come last`() {
    var changes = MemberChanges()
    changes.order = ids(3, 1, 2)
    #expect(changes.applied(to: ids(1, 2, 3)) == ids(3, 1, 2))
    #expect(changes.applied(to: ids(1, 4, 2, 3)) == ids(3, 1, 2, 4))
    #expect(changes.applied(to: ids(1, 3)) == ids(3, 1))
    #expect(changes.applied(to: ids(1, 2, 4)) == ids(1, 2, 4))
    changes.remove(id(2))
    changes.add(id(5), comesLast: true)
    #expect(changes.applied(to: ids(1, 2, 3, 4)) == ids(3, 1, 5, 4))
    #expect(changes.withoutOrder.applied(to: ids(1, 2, 3, 4)) == ids(1, 3, 4, 5))
  }

  // MARK: Other records

  @Test func `replaced identifiers are replaced in additions, removals, the order and the list below`() {
    var changes = MemberChanges()
    changes.begin(at: ListOrigin(version: 7, ids: ids(1, 2)))
    changes.remove(id(1))
    changes.add(id(3), comesLast: true)
    changes.order = ids(3, 2)
    let mapped = changes.mapped { $0.key < 3 ? ManagedObjectID(space: space, key: $0.key + 10) : $0 }
    #expect(mapped.removed == [id(11)])
    #expect(mapped.added == ids(3))
    #expect(mapped.order == ids(3, 12))
    #expect(mapped.origin?.ids == ids(11, 12))
    #expect(mapped.origin?.version == 7)
  }

  @Test func `deleted records leave the additions and the order`() {
    var changes = MemberChanges()
    for key in 1...4 { changes.add(id(key), comesLast: true) }
    changes.order = ids(4, 3, 2, 1)
    changes.forget([id(1), id(3)])
    #expect(changes.added == ids(2, 4))
    #expect(changes.order == ids(4, 2))
  }

  @Test func `the order of a child is followed by the members that it does not know`() {
    var child = MemberChanges()
    child.begin(at: ListOrigin(version: 4, ids: ids(1, 3)))
    child.remove(id(1))
    child.add(id(2), comesLast: true)
    child.order = ids(2, 3)
    var parent = MemberChanges()
    parent.add(id(9), comesLast: true)
    parent.merge(child, isOrdered: true)
    #expect(parent.origin?.version == 4)
    #expect(parent.removed == [id(1)])
    #expect(parent.added == ids(9, 2))
    #expect(parent.order == ids(2, 3, 9))
  }

  @Test func `a change that a child reverts remains a change if another writer has changed the list since`() {
    var adding = MemberChanges()
    adding.add(id(1), comesLast: false)
    var removing = MemberChanges()
    removing.remove(id(1))
    var parent = adding
    parent.merge(removing, isOrdered: false)
    #expect(parent.isEmpty)
    parent = adding
    parent.merge(removing, isOrdered: false, isStored: [id(1): true])
    #expect(parent.removed == [id(1)])
    parent = removing
    parent.merge(adding, isOrdered: false)
    #expect(parent.isEmpty)
    parent = removing
    parent.merge(adding, isOrdered: false, isStored: [id(1): false])
    #expect(parent.added == ids(1))
  }

  @Test func `an edit names the unsaved records that it adds and removes`() {
    let (first, second) = (ManagedObjectID.temporary(for: entity), ManagedObjectID.temporary(for: entity))
    #expect(MemberEdit.add(first).temporaryIDs == [first])
    #expect(MemberEdit.remove(first).temporaryIDs == [first])
    #expect(MemberEdit.add(id(1)).temporaryIDs == [])
    #expect(MemberEdit.order([first]).temporaryIDs == [])
    #expect(MemberEdit.replace([first, id(1)], by: [id(2), second]).temporaryIDs == [first, second])
  }

  // MARK: Ordered identifiers

  @Test(arguments: SeededRandom.seeds)
  func `a set of identifiers has the order of the additions, however many are removed`(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var set = OrderedIDs(ids(1, 2, 1))
    var expected = ids(1, 2)
    for round in 0..<2_000 {
      let candidate = id(random.next(below: 120))
      // Removals prevail in every second phase, so that the gaps are closed.
      if random.isTrue(round / 200 % 2 == 0 ? 0.8 : 0.2) {
        set.append(candidate)
        if !expected.contains(candidate) { expected.append(candidate) }
      } else {
        #expect(set.remove(candidate) == expected.contains(candidate))
        expected.removeAll { $0 == candidate }
      }
      #expect(set.count == expected.count && set.isEmpty == expected.isEmpty)
      #expect(set.contains(candidate) == expected.contains(candidate))
      if round.isMultiple(of: 50) { #expect(set.all == expected) }
    }
    #expect(set.all == expected)
  }

  @Test func `a set of unique identifiers is the list until an identifier is added or removed`() {
    var set = OrderedIDs(unique: ids(3, 1, 2))
    #expect(set.count == 3 && !set.isEmpty && set.all == ids(3, 1, 2))
    #expect(set.contains(id(2)) && !set.contains(id(4)))
    var other = set
    other.append(id(1))
    #expect(other.all == ids(3, 1, 2))
    other.append(id(4))
    #expect(other.all == ids(3, 1, 2, 4) && other.contains(id(4)) && other.count == 4)
    #expect(set.remove(id(1)) && !set.remove(id(1)))
    #expect(set.all == ids(3, 2) && set.count == 2 && !set.contains(id(1)))
    #expect(OrderedIDs(unique: []).isEmpty)
  }

  @Test func `a new order applies to a list with the same members, and members of other writers come last`() {
    var changes = MemberChanges()
    changes.apply(.order(ids(4, 1, 2, 3)), isOrdered: true)
    #expect(changes.order == ids(4, 1, 2, 3))
    #expect(changes.applied(to: ids(1, 2, 3, 4)) == ids(4, 1, 2, 3))
    // Another writer has removed 2 and added 5.
    #expect(changes.applied(to: ids(1, 5, 3, 4)) == ids(4, 1, 3, 5))
    #expect(changes.addsLast(id(6), behind: id(3)))
    changes.apply(.add(id(6)), isOrdered: true)
    changes.apply(.remove(id(1)), isOrdered: true)
    #expect(changes.order == ids(4, 2, 3, 6))
    #expect(changes.applied(to: ids(1, 2, 3, 4)) == ids(4, 2, 3, 6))
  }
}
