import Testing

@testable import CoherenceIdentityMap
import TestRandom

/// The collections below the engine, each compared with a collection of the standard library.
@Suite("Collections of the engine")
struct CollectionTests {
  private final class Element {
    let id: Int

    init(_ id: Int) {
      self.id = id
    }
  }

  // MARK: Identity index

  @Test(arguments: SeededRandom.seeds)
  func `an identity index finds the elements that a dictionary finds`(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var index = IdentityIndex<Element>()
    defer { index.destroy() }
    var expected: [Int: Element] = [:]
    for _ in 0..<5000 {
      let id = Int.random(in: 0..<400, using: &random)
      let hash = index.hash(id)
      #expect(index.find(hash) { $0.id == id }?.takeUnretainedValue() === expected[id])
      if let element = expected.removeValue(forKey: id) {
        index.remove(element, hash: hash)
      } else {
        let element = Element(id)
        expected[id] = element
        index.insert(element, hash: hash)
      }
    }
    var found: Set<Int> = []
    index.forEach { found.insert($0.id) }
    #expect(found == Set(expected.keys))
    #expect(index.count == expected.count)
  }

  @Test func `an identity index distinguishes elements of equal hash by the condition`() {
    var index = IdentityIndex<Element>()
    defer { index.destroy() }
    let elements = (0..<20).map { Element($0) }
    for element in elements { index.insert(element, hash: 7) }
    index.remove(elements[3], hash: 7)
    for element in elements {
      let found = index.find(7) { $0.id == element.id }?.takeUnretainedValue()
      #expect(found === (element.id == 3 ? nil : element))
    }
  }

  @Test func `an identity index releases removed elements and the rest when it is destroyed`() {
    var index = IdentityIndex<Element>()
    weak var removed: Element?
    weak var kept: Element?
    do {
      let (first, second) = (Element(1), Element(2))
      (removed, kept) = (first, second)
      index.insert(first, hash: index.hash(1))
      index.insert(second, hash: index.hash(2))
      index.remove(first, hash: index.hash(1))
    }
    #expect(removed == nil)
    #expect(kept != nil)
    index.destroy()
    #expect(kept == nil)
  }

  // MARK: LRU list

  @Test(arguments: SeededRandom.seeds)
  func `an LRU list evicts the least recently used entry`(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    let elements = (0..<50).map { Element($0) }
    var entries: [Int: LRUEntry<Element>] = [:]
    var list = LRUList<Element>()
    var expected: [(id: Int, cost: Int)] = []
    for _ in 0..<2000 {
      let (id, cost) = (Int.random(in: 0..<50, using: &random), Int.random(in: 0..<10, using: &random))
      expected.removeAll { $0.id == id }
      if let entry = entries[id], Bool.random(using: &random) {
        list.remove(entry)
        entries[id] = nil
      } else {
        expected.append((id, cost))
        if let entry = entries[id] {
          list.moveToEnd(entry, cost: cost, deadline: nil)
        } else {
          let entry = LRUEntry(elements[id], cost: cost, deadline: nil)
          entries[id] = entry
          list.append(entry)
        }
      }
      #expect(list.first?.element.id == expected.first?.id)
      #expect(list.count == expected.count)
      #expect(list.cost == expected.reduce(0) { $0 + $1.cost })
    }
    #expect(drain(&list) == expected.map(\.id))
    withExtendedLifetime(elements) {}
  }

  @Test(arguments: SeededRandom.seeds)
  func `an LRU list keeps entries in the order of their deadlines`(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    let elements = (0..<100).map { Element($0) }
    var list = LRUList<Element>()
    var deadlines: [(id: Int, seconds: Int)] = []
    for element in elements {
      let seconds = Int.random(in: 0..<30, using: &random)
      deadlines.append((element.id, seconds))
      list.insertByDeadline(LRUEntry(element, cost: 1, deadline: .seconds(seconds)))
    }
    let expected = deadlines.sorted { ($0.seconds, $0.id) < ($1.seconds, $1.id) }.map(\.id)
    #expect(drain(&list) == expected)
    #expect(list.count == 0 && list.cost == 0)
    withExtendedLifetime(elements) {}
  }

  /// Removes the entries in the order of their eviction.
  private func drain(_ list: inout LRUList<Element>) -> [Int] {
    var ids: [Int] = []
    while let first = list.first {
      ids.append(first.element.id)
      list.remove(first)
    }
    return ids
  }

  // MARK: Block list

  @Test func `a block list returns the elements of an array in both directions`() {
    var list = BlockList<Int>()
    var expected = Array(0..<10_000)
    for element in expected { list.append(element) }
    #expect(list.count == expected.count)
    var visited: [Int] = []
    list.forEach(in: 2000..<4200) { visited.append($0) }
    #expect(visited == Array(2000..<4200))
    for _ in 0..<7000 { #expect(list.removeLast() == expected.popLast()) }
    list.append(-1)
    #expect(list.removeLast() == -1)
    while let last = list.removeLast() { #expect(last == expected.popLast()) }
    #expect(expected.isEmpty && list.count == 0)
  }
}
