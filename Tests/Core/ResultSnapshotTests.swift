import Testing

@testable import CoherenceCore

/// The states of live results: ranges, sections, and the differences of two states.
@Suite("States of live results")
struct ResultSnapshotTests {
  private let entity: EntityDescription
  private let space: IDSpace
  private let order: ResultOrder

  init() throws {
    let model = try ManagedObjectModel {
      Entity("Item") {
        Attribute("genre", .string)
        Attribute("rank", .int64)
      }
    }
    entity = try model.entity(named: "Item")
    space = IDSpaces(store: StoreIdentifier("states"), model: model)[entity]
    order = ResultOrder(keys: try PreparedOrder([SortKey("genre"), SortKey("rank")], for: entity))
  }

  private func id(_ key: Int64) -> ManagedObjectID { ManagedObjectID(space: space, key: key) }

  private func entry(_ id: ManagedObjectID, _ genre: String, _ rank: Int64, revision: UInt64 = 0) -> ResultEntry {
    ResultEntry(values: [.string(genre), .int(rank)], id: id, version: 1, revision: revision)
  }

  private func state(
    _ entries: [ResultEntry], offset: Int = 0, limit: Int? = nil, hasSections: Bool = false
  ) -> ResultState {
    let isRange = offset > 0 || limit != nil
    let sections = hasSections ? SectionCounts(isRange ? [] : entries, order: order) : nil
    return ResultState(
      SortedEntries(entries, order: order), range: FetchRange(offset: offset, limit: limit), isRange: isRange,
      sections: sections)
  }

  private func snapshot(
    _ entries: [ResultEntry], offset: Int = 0, limit: Int? = nil, hasSections: Bool = false
  ) -> ResultSnapshot<ManagedObject> {
    ResultSnapshot(state(entries, offset: offset, limit: limit, hasSections: hasSections))
  }

  /// Ten entries of the genres `a` and `b`, by their ranks.
  private var entries: [ResultEntry] { (0..<10).map { entry(id($0), $0 < 4 ? "a" : "b", $0) } }

  private func difference(
    _ former: ResultState, _ current: ResultState, renamed: [ManagedObjectID: ManagedObjectID] = [:]
  ) -> ResultChanges<ManagedObject> {
    ResultChanges(
      ResultDifference(from: former, to: current, TouchedEntries(comparing: former, current), renamed: renamed))
  }

  @Test(
    arguments: [(0, nil), (0, 3), (2, nil), (3, 4), (9, 5), (10, nil), (12, 2), (0, 0), (4, .max)] as [(Int, Int?)])
  func `a state shows the records of its range, each at its position`(offset: Int, limit: Int?) {
    let expected = Array((0..<10).map { id($0) }.dropFirst(offset).prefix(limit ?? .max))
    let snapshot = snapshot(entries, offset: offset, limit: limit)
    let state = snapshot.state
    #expect(snapshot.ids == expected && Array(snapshot) == expected && snapshot.count == expected.count)
    for entry in entries {
      #expect(snapshot.index(of: entry.id) == expected.firstIndex(of: entry.id))
      #expect(state.position(of: entry) == expected.firstIndex(of: entry.id))
    }
    #expect(snapshot.index(of: id(99)) == nil)
  }

  @Test func `a range has the sections of its own records alone`() {
    let sections = snapshot(entries, offset: 3, limit: 4, hasSections: true).sections
    #expect(sections.map(\.name) == ["a", "b"] && sections.map(\.range) == [0..<1, 1..<4])
    #expect(sections.map(\.count) == [1, 3])
    let all = snapshot(entries, hasSections: true).sections
    #expect(all.map(\.range) == [0..<4, 4..<10] && all.map(\.value) == [.string("a"), .string("b")])
    #expect(snapshot(entries, offset: 4, hasSections: true).sections.map(\.range) == [0..<6])
    #expect(snapshot(entries).sections.isEmpty && snapshot([], hasSections: true).sections.isEmpty)
  }

  @Test func `snapshots are equal with equal records in equal sections`() {
    let fewer = Array(entries.prefix(9))
    let moved = fewer + [entry(id(9), "c", 9)]
    #expect(snapshot(entries) == snapshot(moved))
    #expect(snapshot(entries, hasSections: true) == snapshot(entries, hasSections: true))
    #expect(snapshot(entries, hasSections: true) != snapshot(moved, hasSections: true))
    #expect(snapshot(entries) != snapshot(fewer))
  }

  @Test func `the counts of sections follow inserts and removals of entries`() {
    var counts = SectionCounts([], order: order)
    var list: [ResultEntry] = []
    for (step, genre) in ["b", "a", "b", "c", "a", "b"].enumerated() {
      let new = entry(id(Int64(step)), genre, Int64(step))
      counts.insert(new)
      list.append(new)
    }
    func expect(_ sections: [(String, Int)]) {
      #expect(counts.sections.map(\.value) == sections.map { AttributeValue.string($0.0) })
      #expect(counts.sections.map(\.count) == sections.map(\.1))
      for (index, section) in sections.enumerated() { #expect(counts.index(of: .string(section.0)) == index) }
    }
    expect([("a", 2), ("b", 3), ("c", 1)])
    counts.remove(list[3])
    expect([("a", 2), ("b", 3)])
    counts.remove(list[1])
    expect([("a", 1), ("b", 3)])
    // An entry of an unknown section, and an entry without values, change nothing.
    counts.remove(list[3])
    counts.remove(ResultEntry(values: [], id: id(50), version: 1, revision: 0))
    counts.insert(ResultEntry(values: [], id: id(50), version: 1, revision: 0))
    expect([("a", 1), ("b", 3)])
    #expect(counts.index(of: .string("c")) == nil && counts.index(of: .string("aa")) == nil)
  }

  @Test func `a difference names the sections that end and begin, and no others`() {
    let former = [entry(id(1), "a", 1), entry(id(2), "b", 2), entry(id(3), "b", 3), entry(id(4), "d", 4)]
    let current = [entry(id(2), "b", 2), entry(id(3), "c", 3, revision: 1), entry(id(5), "e", 5, revision: 2)]
    let changes = difference(state(former, hasSections: true), state(current, hasSections: true))
    #expect(changes.deletedSections == [0, 2] && changes.insertedSections == [1, 2])
    let plain = difference(state(former), state(current))
    #expect(plain.deletedSections.isEmpty && plain.insertedSections.isEmpty)
    var ids = changes.former.ids
    changes.apply(to: &ids)
    #expect(ids == [id(2), id(3), id(5)])
  }

  @Test func `changes whose elements cannot be made leave the list unchanged`() {
    struct Unmade: Error {}
    let former = state([entry(id(1), "a", 1), entry(id(2), "a", 2)])
    let current = state([entry(id(2), "a", 2, revision: 1), entry(id(3), "a", 3, revision: 2)])
    let changes = difference(former, current)
    #expect(changes.changes == [.delete(id(1), at: 0), .update(id(2), from: 1, to: 0), .insert(id(3), at: 1)])
    var list = ["1", "2"]
    let updated = id(2)
    #expect(throws: Unmade.self) {
      try changes.apply(to: &list) { id in
        if id == updated { throw Unmade() }
        return "3"
      }
    }
    #expect(list == ["1", "2"])
  }

  @Test func `a difference between ranges compares the records of the ranges alone`() {
    let former = state(entries, limit: 3)
    let current = state(Array(entries.dropFirst(2)), limit: 3)
    let changes = difference(former, current)
    #expect(
      changes.changes == [.delete(id(0), at: 0), .delete(id(1), at: 1), .insert(id(3), at: 1), .insert(id(4), at: 2)])
    #expect(difference(former, state(entries, limit: 3)).changes.isEmpty)
  }

  @Test func `a saved record is an update under its new identifier`() {
    let temporary = ManagedObjectID.temporary(for: entity)
    let former = state([entry(id(1), "a", 1), entry(temporary, "a", 2)])
    let current = state([entry(id(1), "a", 1), entry(id(7), "a", 2, revision: 1)])
    let changes = difference(former, current, renamed: [temporary: id(7)])
    #expect(changes.renamed == [temporary: id(7)])
    #expect(changes.changes == [.update(id(7), from: 1, to: 1)])
    let unrelated = difference(former, current, renamed: [temporary: id(8)])
    #expect(unrelated.renamed.isEmpty)
    #expect(unrelated.changes == [.delete(temporary, at: 1), .insert(id(7), at: 1)])
  }

  @Test(arguments: 0..<8)
  func `two unsaved records joined by a save are an updated record and a deleted record`(round: Int) {
    let (first, second) = (ManagedObjectID.temporary(for: entity), ManagedObjectID.temporary(for: entity))
    let former = state([entry(first, "a", 1), entry(second, "a", 2)])
    let current = state([entry(id(7), "a", 1, revision: 1)])
    let changes = difference(former, current, renamed: [first: id(7), second: id(7)])
    #expect(changes.renamed == [first: id(7)])
    #expect(changes.changes == [.delete(second, at: 1), .update(id(7), from: 0, to: 0)])
  }

  @Test func `touched entries keep the first former state and the last present state`() {
    let (one, two, three) = (entry(id(1), "a", 1), entry(id(1), "b", 1), entry(id(1), "c", 1))
    var touched = TouchedEntries()
    #expect(touched.isEmpty && touched.count == 0 && !touched.isFormer(id(1)))
    touched.add(id(1), from: one, to: two)
    var later = TouchedEntries()
    later.add(id(1), from: two, to: three)
    later.add(id(2), from: nil, to: entry(id(2), "a", 2))
    touched.add(later)
    #expect(touched.count == 2 && touched.isFormer(id(1)) && !touched.isFormer(id(2)))
    let pair = touched.pairs.first { $0.new?.id == id(1) }
    #expect(pair?.old?.values.first == .string("a") && pair?.new?.values.first == .string("c"))
  }

  @Test func `an empty state has the form of another state`() {
    let sections = ResultState.empty(like: state(entries, hasSections: true))
    #expect(sections.visibleEntries.isEmpty && sections.sections != nil && !sections.isRange)
    let range = ResultState.empty(like: state(entries, limit: 3))
    #expect(range.isRange && range.sections == nil)
  }
}
