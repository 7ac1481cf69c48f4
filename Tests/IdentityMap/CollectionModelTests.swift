import TestRandom
import Testing

@testable import CoherenceIdentityMap

/// The collections below the engine beside those of the standard library: all short sequences of operations, at the
/// bounds where a collection takes memory, gives it back or moves its elements.
@Suite("All short uses of the engine's collections")
struct CollectionModelTests {
  private final class Element {
    let id: Int
    private let counter: LiveCounter

    init(_ id: Int, _ counter: LiveCounter) {
      self.id = id
      self.counter = counter
      counter.living += 1
    }

    deinit { counter.living -= 1 }
  }

  /// Counts the elements that are not released.
  private final class LiveCounter {
    var living = 0
  }

  // MARK: Identity index

  /// An index of elements with chosen hashes, with its model.
  private struct IndexPair {
    var index = IdentityIndex<Element>()
    var model: [Int: Element] = [:]
    let counter = LiveCounter()
    let hashes: [UInt32]

    mutating func toggle(_ id: Int) {
      if let element = model.removeValue(forKey: id) {
        index.remove(element, hash: hashes[id])
      } else {
        let element = Element(id, counter)
        model[id] = element
        index.insert(element, hash: hashes[id])
      }
    }

    /// Whether the index finds and visits the elements of the model, retains them, and releases them at its end.
    mutating func agreesAndReleases() -> Bool {
      index.checkInvariants()
      var agrees = index.count == model.count
      for id in hashes.indices {
        let found = index.find(hashes[id]) { $0.id == id }?.takeUnretainedValue()
        if found !== model[id] { agrees = false }
      }
      var visited: [Int] = []
      index.forEach { visited.append($0.id) }
      if visited.sorted() != model.keys.sorted() { agrees = false }
      let count = model.count
      model = [:]
      if counter.living != count { agrees = false }
      index.destroy()
      return agrees && counter.living == 0
    }
  }

  @Test(arguments: [[7, 7, 7], [6, 7, 6], [7, 0, 15], [7, 8, 7]] as [[UInt32]])
  func `an identity index agrees with a dictionary after every sequence of up to six operations`(hashes: [UInt32]) {
    var different: [[Int]] = []
    forEachSequence(of: 4, upTo: 6) { sequence in
      var pair = IndexPair(hashes: hashes)
      for operation in sequence {
        if operation < 3 {
          pair.toggle(operation)
        } else {
          pair.index.remove(Element(9, LiveCounter()), hash: hashes[0])
        }
      }
      if !pair.agreesAndReleases() { different.append(sequence) }
    }
    #expect(different.isEmpty)
  }

  /// The greatest numbers of elements in indexes of 8, 16, 32 and 64 buckets: four fifths. One more element doubles the
  /// capacity.
  @Test(arguments: [6, 12, 25, 51])
  func `an identity index keeps its elements when it grows in the middle of a run of occupied buckets`(bound: Int) {
    var different: [[Int]] = []
    forEachSequence(of: 3, upTo: 5) { sequence in
      // All hashes have equal lower bits, so that the elements form one run of buckets, and different upper bits.
      var pair = IndexPair(hashes: (0..<bound + 3).map { UInt32($0 % 3) << 20 | 5 })
      for id in 3..<bound + 2 { pair.toggle(id) }
      for operation in sequence { pair.toggle(operation) }
      if !pair.agreesAndReleases() { different.append(sequence) }
    }
    #expect(different.isEmpty)
  }

  @Test func `an identity index keeps its elements when it shrinks in the middle of a run of occupied buckets`() {
    var different: [[Int]] = []
    var capacities: Set<Int> = []
    forEachSequence(of: 3, upTo: 4) { sequence in
      var pair = IndexPair(hashes: (0..<60).map { UInt32($0 % 5) << 6 | 62 })
      for id in 0..<60 { pair.toggle(id) }
      // An index with a capacity of 128 shrinks when fewer than 16 elements are left.
      for id in 17..<60 { pair.toggle(id) }
      for operation in sequence { pair.toggle(operation * 7) }
      capacities.insert(pair.index.capacity)
      if !pair.agreesAndReleases() { different.append(sequence) }
    }
    #expect(different.isEmpty)
    #expect(capacities == [64, 128])
  }

  // MARK: LRU list

  @Test func `an LRU list agrees with an array after every sequence of up to five operations on three entries`() {
    let counter = LiveCounter()
    let elements = (0..<3).map { Element($0, counter) }
    var different: [[Int]] = []
    forEachSequence(of: 10, upTo: 5) { sequence in
      let entries = elements.map { LRUEntry($0, cost: 1, deadline: .seconds($0.id)) }
      var (list, model): (LRUList<Element>, [Int]) = (LRUList(), [])
      for (step, operation) in sequence.enumerated() {
        let entry = entries[operation % 3]
        let index = model.firstIndex(of: operation % 3)
        switch (operation / 3, index) {
        case (0, nil):
          list.append(entry)
          model.append(operation % 3)
        case (0, let index?):
          list.moveToEnd(entry, cost: step + 2, deadline: step % 2 == 0 ? nil : .seconds(3 - operation % 3))
          model.append(model.remove(at: index))
        case (1, let index?):
          list.remove(entry)
          model.remove(at: index)
        case (2, nil):
          let later = model.reversed().prefix { isLater(entries[$0], than: entry) }
          list.insertByDeadline(entry)
          model.insert(operation % 3, at: model.count - later.count)
        case (3, _):
          list.removeAll()
          model = []
        default: continue
        }
      }
      if !agrees(list, with: model, entries) { different.append(sequence) }
      list.removeAll()
      list.checkInvariants()
    }
    #expect(different.isEmpty)
    #expect(counter.living == elements.count)
  }

  private func isLater(_ entry: LRUEntry<Element>, than other: LRUEntry<Element>) -> Bool {
    guard let deadline = entry.deadline, let earlier = other.deadline else { return false }
    return deadline > earlier
  }

  /// Whether a list evicts the entries of the model, in its order, and sums their costs.
  private func agrees(_ list: LRUList<Element>, with model: [Int], _ entries: [LRUEntry<Element>]) -> Bool {
    list.checkInvariants()
    guard list.count == model.count, list.cost == model.reduce(0, { $0 + entries[$1].cost }) else { return false }
    var rest = list
    for id in model {
      guard let first = rest.first, first.element.id == id else { return false }
      rest.remove(first)
    }
    return rest.first == nil
  }

  // MARK: Block list

  @Test func `a block list agrees with an array after every sequence of operations at the bound between two blocks`() {
    let counter = LiveCounter()
    let full = BlockList<Element>.blockSize
    var list = BlockList<Element>()
    var model: [Int] = []
    var different: [[Int]] = []
    forEachSequence(of: 3, upTo: 7) { sequence in
      // One element more than a block, exactly a block, or one less, by turns.
      let start = full - 1 + sequence.count % 3
      while model.count < start {
        list.append(Element(model.count, counter))
        model.append(model.count)
      }
      while model.count > start { if list.removeLast()?.id != model.popLast() { different.append(sequence) } }
      for operation in sequence {
        switch operation {
        case 0:
          list.append(Element(-model.count, counter))
          model.append(-model.count)
        default: if list.removeLast()?.id != model.popLast() { different.append(sequence) }
        }
        // The third operation is a removal and an insertion, so that a block is given back and taken again.
        if operation == 2 {
          list.append(Element(7, counter))
          model.append(7)
        }
      }
      list.checkInvariants()
      var visited: [Int] = []
      list.forEach(in: max(0, model.count - 9)..<model.count) { visited.append($0.id) }
      if list.count != model.count || visited != Array(model.suffix(9)) || counter.living != model.count {
        different.append(sequence)
      }
    }
    #expect(different.isEmpty)
    list.removeAll()
    list.checkInvariants()
    #expect(list.count == 0 && counter.living == 0 && list.removeLast() == nil)
  }

  @Test func `a block list of every length visits and removes the elements that it has`() {
    let full = BlockList<Element>.blockSize
    for count in [0, 1, full - 1, full, full + 1, 2 * full, 2 * full + 1] {
      let counter = LiveCounter()
      var list = BlockList<Element>()
      for id in 0..<count { list.append(Element(id, counter)) }
      list.checkInvariants()
      var visited: [Int] = []
      list.forEach(in: 0..<count) { visited.append($0.id) }
      #expect(visited == Array(0..<count) && list.count == count)
      list.removeAll()
      list.checkInvariants()
      #expect(list.count == 0 && counter.living == 0)
      list.append(Element(1, counter))
      #expect(list.removeLast()?.id == 1 && counter.living == 0)
    }
  }

  // MARK: Link buffer

  @Test func `a link buffer agrees with an array after every sequence of up to seven operations`() {
    var different: [[Int]] = []
    forEachSequence(of: 5, upTo: 7) { sequence in
      var (buffer, model): (LinkBuffer<Int>, [Int]) = (LinkBuffer(), [])
      defer { buffer.deallocate() }
      for (step, operation) in sequence.enumerated() {
        switch operation {
        case 0:
          buffer.append(step)
          model.append(step)
        case 1: if buffer.removeLast() != model.popLast() { different.append(sequence) }
        case 2: buffer.reserveCapacity(model.count + step)
        case 3: if !model.isEmpty { (buffer[0], model[0]) = (-step, -step) }
        default: if !model.isEmpty { (buffer[model.count - 1], model[model.count - 1]) = (step, step) }
        }
      }
      buffer.checkInvariants()
      if !buffer.elementsEqual(model) || !buffer.links.elementsEqual(model) { different.append(sequence) }
    }
    #expect(different.isEmpty)
  }
}
