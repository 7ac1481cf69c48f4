import TestRandom
import Testing

@testable import CoherenceCore

/// The look-up of a list's identifiers in an earlier list.
@Suite struct ListMatchingTests {
  private let space: IDSpace

  init() throws {
    let model = try ManagedObjectModel { Entity("Thing") { Attribute("name", .string) } }
    space = IDSpaces(store: StoreIdentifier("matching"), model: model)[try model.entity(named: "Thing")]
  }

  private func ids(_ keys: some Sequence<Int>) -> [ManagedObjectID] {
    keys.map { ManagedObjectID(space: space, key: Int64($0)) }
  }

  private func match(_ keys: [Int], _ earlier: [Int]) -> [Int?] {
    let matching = ListMatching(ids(keys), in: ids(earlier))
    #expect(matching.isComplete == matching.formerIndices.allSatisfy { $0 != nil })
    return matching.formerIndices
  }

  @Test func `each identifier has its index in the earlier list, and a new one has none`() {
    #expect(match([], []) == [])
    #expect(match([1, 2], []) == [nil, nil])
    #expect(match([], [1, 2]) == [])
    #expect(match([3, 1, 2], [1, 2, 3]) == [2, 0, 1])
    #expect(match([2, 3, 1], [1, 2, 3]) == [1, 2, 0])
    #expect(match([1, 9, 3], [1, 2, 3]) == [0, nil, 2])
    #expect(match([3, 2, 1], [1, 2, 3]) == [2, 1, 0])
  }

  @Test(arguments: SeededRandom.seeds)
  func `lists after any moves, additions and removals have the indices that a table has`(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    for _ in 0..<200 {
      let earlier = Array(0..<random.next(below: 40))
      var present = earlier
      for _ in 0..<random.next(below: 8) {
        if !present.isEmpty, random.isTrue(0.7) {
          let moved = present.remove(at: random.next(below: present.count))
          if random.isTrue(0.8) { present.insert(moved, at: random.next(below: present.count + 1)) }
        } else {
          present.insert(
            100 + present.count + random.next(below: 1_000) * 100, at: random.next(below: present.count + 1))
        }
      }
      var seen: Set<Int> = []
      present = present.filter { seen.insert($0).inserted }
      #expect(match(present, earlier) == present.map { earlier.firstIndex(of: $0) })
    }
  }

  @Test func `the hash value of an identifier is the value of its hash function`() {
    for id in ids([0, 1, -1, .max, .min]) {
      var hasher = Hasher()
      id.hash(into: &hasher)
      #expect(hasher.finalize() == id.hashValue)
    }
  }
}
