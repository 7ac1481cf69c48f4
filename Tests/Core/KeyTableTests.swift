import TestRandom
import Testing

@testable import CoherenceCore

/// Key tables compared with dictionaries: all short sequences of operations on keys that compete for the same entries,
/// and random long sequences.
@Suite("Key tables")
struct KeyTableTests {
  /// A table with its model.
  private struct Pair: ~Copyable {
    var table = KeyTable()
    var model: [Int64: UInt] = [:]

    mutating func set(_ word: UInt, for key: Int64) {
      table.set(word, for: key)
      model[key] = word
    }

    /// Raises the word of a key by one.
    mutating func update(_ key: Int64) {
      table.reserve(1)
      table.update(key) { $0 + 1 }
      model[key, default: 0] += 1
    }

    mutating func remove(_ key: Int64, ifWord word: UInt) {
      table.remove(key, ifWord: word)
      if model[key] == word { model[key] = nil }
    }

    mutating func removeAll() {
      table.removeAll()
      model = [:]
    }

    /// Whether the table has the words of the model, for given keys and in total.
    func agrees(on keys: [Int64]) -> Bool {
      table.checkInvariants()
      guard table.count == model.count else { return false }
      for key in keys where table[key] != model[key, default: 0] { return false }
      return true
    }

    /// The words of the table in ascending order, by a visit.
    func visitedWords() -> [UInt] {
      var words: [UInt] = []
      table.forEach { words.append($0) }
      return words.sorted()
    }
  }

  /// The first keys whose search begins at given entries of the smallest table, each key once.
  private static func keys(at homes: [Int]) -> [Int64] {
    let table = KeyTable()
    var keys: [Int64] = []
    for home in homes {
      var key: Int64 = -20
      while table.home(key) != home || keys.contains(key) { key += 1 }
      keys.append(key)
    }
    return keys
  }

  /// The homes of three keys: the same entry, or neighbouring entries. At the end of the memory a search continues at
  /// the beginning.
  private static let homes = [[3, 3, 3], [15, 15, 15], [14, 15, 14], [15, 0, 15]]

  @Test(arguments: homes)
  func `a key table agrees with a dictionary after every sequence of up to six operations on three keys`(homes: [Int]) {
    let keys = Self.keys(at: homes)
    var different: [[Int]] = []
    forEachSequence(of: 6, upTo: 6) { sequence in
      var pair = Pair()
      for (step, operation) in sequence.enumerated() {
        let key = keys[operation / 2]
        if operation % 2 == 0 { pair.set(UInt(step + 1), for: key) } else { pair.remove(key, ifWord: pair.table[key]) }
      }
      if !pair.agrees(on: keys) { different.append(sequence) }
    }
    #expect(different.isEmpty, "The keys are \(keys).")
  }

  @Test(arguments: [[15, 15, 15], [15, 0, 15]])
  func `a key table agrees with a dictionary after every sequence of all its operations`(homes: [Int]) {
    let keys = Self.keys(at: homes)
    var different: [[Int]] = []
    forEachSequence(of: 14, upTo: 4) { sequence in
      var pair = Pair()
      for (step, operation) in sequence.enumerated() {
        let key = keys[operation % 3]
        switch operation / 3 {
        case 0: pair.set(UInt(step + 1), for: key)
        case 1: pair.update(key)
        case 2: pair.remove(key, ifWord: pair.table[key])
        case 3: pair.remove(key, ifWord: .max)
        default: if operation == 12 { pair.removeAll() } else { pair.table.reserve(40) }
        }
      }
      if !pair.agrees(on: keys) { different.append(sequence) }
    }
    #expect(different.isEmpty, "The keys are \(keys).")
  }

  @Test func `a key table keeps its keys when it grows in the middle of a run of occupied entries`() {
    // The table grows with the eleventh key: the sequences pass this bound in both directions.
    let residents = Self.keys(at: Array(repeating: 13, count: 9))
    let keys = Self.keys(at: Array(repeating: 13, count: 12)).suffix(3).map { $0 }
    var different: [[Int]] = []
    var capacities: Set<Int> = []
    forEachSequence(of: 6, upTo: 5) { sequence in
      var pair = Pair()
      for key in residents { pair.set(1_000, for: key) }
      for (step, operation) in sequence.enumerated() {
        let key = keys[operation / 2]
        if operation % 2 == 0 { pair.set(UInt(step + 1), for: key) } else { pair.remove(key, ifWord: pair.table[key]) }
      }
      if !pair.agrees(on: keys + residents) { different.append(sequence) }
      capacities.insert(pair.table.capacity)
    }
    #expect(different.isEmpty, "The keys are \(residents) and \(keys).")
    #expect(capacities == [16, 32])
  }

  @Test func `every order of removal from a run of occupied entries keeps the other keys`() {
    let keys = Self.keys(at: [14, 14, 15, 14, 0, 15])
    var different: [[Int]] = []
    forEachSequence(of: keys.count, upTo: keys.count) { order in
      guard Set(order).count == order.count else { return }
      var pair = Pair()
      for key in keys { pair.set(7, for: key) }
      for index in order { pair.remove(keys[index], ifWord: 7) }
      if !pair.agrees(on: keys) { different.append(order) }
    }
    #expect(different.isEmpty, "The keys are \(keys).")
  }

  @Test(arguments: SeededRandom.seeds)
  func `a key table agrees with a dictionary after thousands of operations`(seed: UInt64) {
    print("COHERENCE_SEED=\(seed)")
    var random = SeededRandom(seed: seed)
    // Keys in a row share cache lines, keys far apart do not, and the extreme keys have all bits of either kind.
    let keys = (0..<300).map { Int64($0) } + (1...100).map { Int64($0) << 40 } + [.min, .max, -1]
    var pair = Pair()
    for round in 0..<40 {
      // Rounds in which insertions outnumber removals take turns with rounds of the opposite kind.
      let insertions = round % 2 == 0 ? 0.8 : 0.2
      for _ in 0..<250 {
        let key = keys.randomElement(using: &random)!
        if !random.isTrue(insertions) {
          pair.remove(key, ifWord: random.isTrue(0.9) ? pair.table[key] : .max)
        } else if Bool.random(using: &random) {
          pair.set(UInt.random(in: 1..<1_000, using: &random), for: key)
        } else {
          pair.update(key)
        }
      }
      let (agrees, words) = (pair.agrees(on: keys), pair.visitedWords())
      #expect(agrees && words == pair.model.values.sorted())
      if random.isTrue(0.1) { pair.removeAll() }
    }
    for key in keys { pair.remove(key, ifWord: pair.table[key]) }
    let (agrees, capacity) = (pair.agrees(on: keys), pair.table.capacity)
    #expect(agrees && capacity == 16)
  }

  @Test func `a table with room for its keys does not grow when the keys are added`() {
    for count in [0, 1, 10, 11, 21, 22, 1_000] {
      var pair = Pair()
      pair.table.reserve(count)
      let capacity = pair.table.capacity
      let keys = (0..<Int64(count)).map { $0 * 3 }
      for key in keys { pair.set(5, for: key) }
      let (agrees, present) = (pair.agrees(on: keys), pair.table.capacity)
      #expect(agrees && present == capacity)
    }
  }
}
