import Testing
import TestRandom

@testable import CoherenceCore

/// The lists of live results and their differences, compared with plain arrays.
@Suite("Sorted entries of live results", .timeLimit(.minutes(15)))
struct SortedEntriesTests {
  private let entity: EntityDescription
  private let space: IDSpace
  private let order: ResultOrder

  init() throws {
    let model = try ManagedObjectModel { Entity("Item") { Attribute("rank", .int64) } }
    entity = try model.entity(named: "Item")
    space = IDSpaces(store: StoreIdentifier("sorted"), model: model)[entity]
    order = ResultOrder(keys: try PreparedOrder([SortKey("rank")], for: entity))
  }

  private func entry(_ key: Int, _ rank: Int, revision: Int = 0) -> ResultEntry {
    ResultEntry(
      values: [.int(Int64(rank))], id: ManagedObjectID(space: space, key: Int64(key)), version: 1,
      revision: UInt64(revision))
  }

  @Test(arguments: SeededRandom.seeds)
  func `a list keeps its order and its ranks under random inserts and removals`(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var list = SortedEntries(order: order)
    var model: [ResultEntry] = []
    for step in 0..<3_000 {
      // The list grows, shrinks, and grows again, over several blocks.
      let grows = (step / 1_000) % 2 == 0
      if model.isEmpty || random.isTrue(grows ? 0.8 : 0.2) {
        let new = entry(step, random.next(below: 500))
        list.insert(new)
        model.insert(new, at: SortedEntries.partition(model.count) { order.precedes(model[$0], new) })
      } else {
        list.remove(model.remove(at: random.next(below: model.count)))
      }
      guard step % 500 == 499 else { continue }
      list.checkInvariants()
      #expect(list.chunks.joined().map(\.id) == model.map(\.id), "COHERENCE_SEED=\(seed), step \(step)")
      let wanted = random.next(below: model.count + 1)
      if wanted < model.count { #expect(list.rank(of: model[wanted], list.starts) == wanted) }
      #expect(list.entries(in: wanted..<model.count).map(\.id) == model[wanted...].map(\.id))
    }
    let kept = model.count / 2
    #expect(list.removeLast(keeping: kept).map(\.id) == model[kept...].map(\.id))
    list.checkInvariants()
  }

  @Test(arguments: SeededRandom.seeds)
  func `a difference leads from one list to the next, and moves as few changed records as possible`(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    for round in 0..<200 {
      let count = random.next(below: 40)
      var ranks = Dictionary(uniqueKeysWithValues: (0..<count).map { ($0, random.next(below: 20)) })
      let former = state(ranks, changed: [])
      var changed: Set<Int> = []
      for _ in 0..<random.next(below: 12) {
        let key = random.next(below: 50)
        changed.insert(key)
        ranks[key] = random.isTrue(0.3) ? nil : random.next(below: 20)
      }
      let current = state(ranks, changed: changed)
      let difference = ResultDifference(
        from: former, to: current, TouchedEntries(comparing: former, current), renamed: [:])
      let changes = ResultChanges<ManagedObject>(difference)
      var list = changes.former.ids
      changes.apply(to: &list)
      #expect(list == current.visibleEntries.map(\.id), "COHERENCE_SEED=\(seed), round \(round)")
      let moves = changes.changes.count { if case .move = $0 { true } else { false } }
      #expect(moves == fewestMoves(former, current, changed), "COHERENCE_SEED=\(seed), round \(round)")
    }
  }

  private func state(_ ranks: [Int: Int], changed: Set<Int>) -> ResultState {
    let entries = ranks.map { entry($0.key, $0.value, revision: changed.contains($0.key) ? 1 : 0) }
    return ResultState(
      SortedEntries(entries, order: order), range: FetchRange(offset: 0, limit: nil), isRange: false, sections: nil)
  }

  /// The number of changed records of both lists outside of the best common subsequence: one with all unchanged records,
  /// and then with as many changed ones as possible.
  private func fewestMoves(_ former: ResultState, _ current: ResultState, _ changed: Set<Int>) -> Int {
    let new = current.visibleEntries.map(\.id)
    let old = former.visibleEntries.map(\.id).filter(Set(new).contains)
    func weight(_ id: ManagedObjectID) -> Int { changed.contains(Int(id.key)) ? 1 : 1_000 }
    var weights = [Int](repeating: 0, count: new.count + 1)
    for id in old {
      var diagonal = 0
      for (index, other) in new.enumerated() {
        let above = weights[index + 1]
        weights[index + 1] = id == other ? diagonal + weight(id) : max(above, weights[index])
        diagonal = above
      }
    }
    return old.map(weight).reduce(0, +) - (weights.last ?? 0)
  }
}
