import Testing

@testable import CoherenceCore

/// The neighbours for which a context reads faults and relationships together.
@Suite struct FetchGroupTests {
  private let staff: StaffModel
  private let clubs: RelationshipDescription
  private let pupils: RelationshipDescription

  init() throws {
    let staff = try StaffModel()
    self.staff = staff
    clubs = try #require(staff.person.relationship(named: "clubs"))
    pupils = try #require(staff.person.relationship(named: "pupils"))
  }

  private func rows(_ count: Int) -> [Row] { Array(repeating: staff.row(staff.person, 2), count: count) }

  private func group(_ origin: FetchGroup.Origin, _ count: Int) -> FetchGroup {
    var groups = FetchGroups()
    let group = groups.make(origin)
    #expect(group.add(staff.id(staff.person, 1)) == 0)
    group.add(rows(count - 1))
    return group
  }

  private func window(_ group: FetchGroup, at index: Int, unit: Int = 1, budget: Int = .max) -> Range<Int> {
    group.window(at: index, for: clubs, unit: unit, budget: budget).indices
  }

  // MARK: One group

  @Test func `the faults of a fetch are loaded in sections, those of another read all together`() {
    let fetched = group(.fetch, 600)
    #expect(fetched.faults(at: 0).indices == 0..<256)
    #expect(fetched.faults(at: 255).indices == 0..<256)
    #expect(fetched.faults(at: 256).indices == 256..<512)
    #expect(fetched.faults(at: 599).indices == 512..<600)
    for origin in [FetchGroup.Origin.members, .targets] {
      #expect(group(origin, 600).faults(at: 300).indices == 0..<600)
    }
    #expect(fetched.section(at: 598, size: 7).indices == 595..<600)
    #expect(fetched.section(at: 7, size: 7).indices == 7..<14)
  }

  @Test func `a walk from the first record reads for more neighbours with each step`() {
    let group = group(.fetch, 40_000)
    #expect(window(group, at: 0) == 0..<64)
    #expect(window(group, at: 64) == 0..<1_024)
    #expect(window(group, at: 1_024) == 0..<16_384)
    #expect(window(group, at: 16_384) == 16_384..<32_768)
    #expect(window(group, at: 32_768) == 32_768..<40_000)
  }

  @Test func `a walk from another record begins alone, and each relationship has windows of its own`() {
    let group = group(.fetch, 200)
    #expect(window(group, at: 70) == 70..<71)
    #expect(window(group, at: 71) == 64..<128)
    #expect(group.window(at: 0, for: pupils, unit: 1, budget: .max).indices == 0..<64)
  }

  @Test func `a walk in the middle of another begins with a large window`() {
    #expect(window(group(.members, 2_000), at: 5) == 0..<1_024)
    #expect(window(group(.targets, 2_000), at: 1_500) == 1_024..<2_000)
  }

  @Test func `a walk whose lists were dropped since the step before reads for one record`() {
    let group = group(.fetch, 2_000)
    #expect(window(group, at: 0) == 0..<64)
    #expect(window(group, at: 64, unit: 2) == 64..<65)
    #expect(window(group, at: 65, unit: 2) == 64..<128)
    #expect(window(group, at: 128, unit: 3) == 128..<129)
  }

  @Test func `a window has as many owners as the budget of members allows`() {
    let group = group(.fetch, 2_000)
    #expect(window(group, at: 0) == 0..<64)
    group.note(members: 100, of: 10, for: clubs)
    #expect(window(group, at: 64, budget: 200) == 60..<80)
    #expect(window(group, at: 81, budget: 9) == 81..<82)
    group.note(members: 0, of: 0, for: clubs)
    #expect(window(group, at: 128, budget: 200) == 0..<200)
  }

  // MARK: All groups

  /// Enters a group, and returns the object of its first record.
  private func enter(_ count: Int, in groups: inout FetchGroups) -> (FetchGroup, ManagedObject) {
    let object = ManagedObject(entity: staff.person, insertInto: nil)
    let group = groups.make(.fetch)
    object.groupNumber = group.number
    object.groupIndex = group.add(object.recordID)
    group.add(rows(count - 1))
    groups.enter(group)
    return (group, object)
  }

  @Test func `an object has the group of its read while the group has the object at its index`() {
    var groups = FetchGroups()
    let (group, object) = enter(3, in: &groups)
    #expect(group.number != 0)
    #expect(groups.group(of: object) === group)
    object.groupIndex = 1
    #expect(groups.group(of: object) == nil)
    object.groupIndex = 3
    #expect(groups.group(of: object) == nil)
    object.groupIndex = 0
    groups.removeAll()
    #expect(groups.group(of: object) == nil)
  }

  @Test func `a single record has no group`() {
    var groups = FetchGroups()
    let (_, object) = enter(1, in: &groups)
    #expect(groups.group(of: object) == nil)
    let (pair, member) = enter(2, in: &groups)
    #expect(groups.group(of: member) === pair)
  }

  @Test func `the earliest groups are dropped above the limit, until half of it is used`() {
    var groups = FetchGroups()
    let large = FetchGroups.limit * 2 / 5
    let first = (0..<2).map { _ in enter(large, in: &groups).1 }
    #expect(first.allSatisfy { groups.group(of: $0) != nil })
    let (third, thirdObject) = enter(large, in: &groups)
    #expect(first.allSatisfy { groups.group(of: $0) == nil })
    #expect(groups.group(of: thirdObject) === third)
    let fourthObject = enter(large, in: &groups).1
    #expect(groups.group(of: thirdObject) === third)
    #expect(groups.group(of: fourthObject) != nil)
    let fifthObject = enter(large, in: &groups).1
    #expect(groups.group(of: thirdObject) == nil)
    #expect(groups.group(of: fifthObject) != nil)
  }

  @Test func `the latest group stays, however many records it has`() {
    var groups = FetchGroups()
    let object = enter(FetchGroups.limit + 1, in: &groups).1
    #expect(groups.group(of: object) != nil)
    let (next, nextObject) = enter(2, in: &groups)
    #expect(groups.group(of: object) == nil)
    #expect(groups.group(of: nextObject) === next)
  }
}
