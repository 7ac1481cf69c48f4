import CoherenceCore
import Testing

@testable import CoherenceReconciliation

/// Input indexes beside dictionaries: all short inputs with keys that compete for the same buckets, and random long
/// inputs.
@Suite("Input indexes beside dictionaries")
struct InputIndexModelTests {
  private struct Input: KeyedInput {
    let keys: [[AttributeValue]]
    var count: Int { keys.count }
    func readKey(_ index: Int, into key: inout [AttributeValue]) { key = keys[index] }
  }

  /// An index with its model.
  private struct Pair {
    let index: InputIndex
    var records: [[AttributeValue]: Int] = [:]
    var excluded: Set<Int> = []
    /// Whether each insertion has returned whether an earlier record has the same key.
    private var hasFoundEarlier = true

    /// An index of all input records.
    init(_ keys: [[AttributeValue]], replacesEarlier: Bool) throws {
      index = InputIndex(Input(keys: keys), keyWidth: 2)
      for (record, key) in keys.enumerated() {
        let earlier = records[key]
        let hadEarlier = try index.insert(record, key: key, replacesEarlier: replacesEarlier)
        if hadEarlier != (earlier != nil) { hasFoundEarlier = false }
        if let earlier { excluded.insert(replacesEarlier ? earlier : record) }
        if earlier == nil || replacesEarlier { records[key] = record }
      }
    }

    /// Whether the index finds the records of the model for given keys, and excludes the same records.
    func agrees(on keys: [[AttributeValue]]) throws -> Bool {
      try index.checkInvariants()
      guard hasFoundEarlier, index.excludedCount == excluded.count else { return false }
      for record in 0..<index.inputCount where index.isExcluded(record) != excluded.contains(record) { return false }
      return try keys.allSatisfy { try index.index(of: $0) == records[$0] }
    }
  }

  /// Keys of two texts whose hashes are equal, because the hash does not depend on the bound between the texts.
  private static let equalHashes: [[AttributeValue]] = [
    [.string("a"), .string("bc")], [.string("ab"), .string("c")], [.string(""), .string("abc")],
  ]

  /// The first keys whose search begins at given buckets of the smallest index, each key once.
  private static func keys(at homes: [UInt64]) -> [[AttributeValue]] {
    var keys: [[AttributeValue]] = []
    for home in homes {
      var number: Int64 = 0
      while InputIndex.hash([.int(number), .int(1)]) & 15 != home || keys.contains([.int(number), .int(1)]) {
        number += 1
      }
      keys.append([.int(number), .int(1)])
    }
    return keys
  }

  @Test func `keys with equal hashes and keys with one home are what their names say`() {
    #expect(Set(Self.equalHashes.map(InputIndex.hash)).count == 1 && Set(Self.equalHashes).count == 3)
    #expect(Self.keys(at: [15, 0, 15]).map { InputIndex.hash($0) & 15 } == [15, 0, 15])
  }

  @Test(arguments: [[15, 15, 15], [14, 15, 14], [15, 0, 15], []])
  func `an index agrees with a dictionary for every input of up to six records with three keys`(homes: [UInt64]) throws
  {
    let keys = homes.isEmpty ? Self.equalHashes : Self.keys(at: homes)
    var inputs: [[Int]] = []
    forEachSequence(of: 3, upTo: 6) { inputs.append($0) }
    for input in inputs {
      for replacesEarlier in [false, true] {
        let pair = try Pair(input.map { keys[$0] }, replacesEarlier: replacesEarlier)
        let agrees = try pair.agrees(on: keys)
        if !agrees { Issue.record("The input \(input.map { keys[$0] }) differs.") }
      }
    }
  }

  @Test(arguments: [[15, 0, 15], []])
  func `the records without a match are those that neither are excluded nor have a row`(homes: [UInt64]) throws {
    let keys = homes.isEmpty ? Self.equalHashes : Self.keys(at: homes)
    // Each of five records has one of three keys. Every subset of the records has rows or is excluded by the caller.
    for chosen in 0..<32 {
      let input = [0, 1, 0, 2, 1].map { keys[$0] }
      var pair = try Pair(input, replacesEarlier: chosen % 3 == 0)
      var matched = IndexBits(capacity: input.count)
      for record in input.indices where chosen >> record & 1 == 1 {
        if record % 2 == 0 {
          matched.insert(record)
        } else {
          pair.index.exclude(record)
          pair.excluded.insert(record)
        }
      }
      let expected = input.indices.filter { !pair.excluded.contains($0) && !matched.contains($0) }
      #expect(pair.index.indexes(notIn: matched) == expected)
      let missing = try pair.index.keys(notIn: matched)
      #expect(missing.columns == KeyColumns(expected.map { input[$0] }, width: 2).columns)
      #expect(try pair.agrees(on: keys))
    }
  }

  @Test(arguments: SeededRandom.seeds)
  func `an index agrees with a dictionary for thousands of records, with repeated keys and equal hashes`(
    seed: UInt64
  ) throws {
    print("COHERENCE_SEED=\(seed)")
    var random = SeededRandom(seed: seed)
    for count in [0, 1, 8, 9, 100, 3_000] {
      // The bound between the two texts is anywhere, so that several keys have one hash.
      let keys = (0..<count).map { _ -> [AttributeValue] in
        let text = "key \(Int.random(in: 0..<max(1, count / 3), using: &random))"
        let length = Int.random(in: 0...3, using: &random)
        return [.string(String(text.prefix(length))), .string(String(text.dropFirst(length)))]
      }
      let pair = try Pair(keys, replacesEarlier: Bool.random(using: &random))
      #expect(try pair.agrees(on: keys + [[.string("no"), .string("key")], [.null, .null]]))
      #expect(pair.index.capacity >= 2 * count)
    }
  }

  @Test func `a set of indexes has the members of a standard set, for every set of indexes beside the bounds of words`()
  {
    let indexes = [0, 1, 62, 63, 64, 127, 128, 191]
    for chosen in 0..<1 << indexes.count {
      var bits = IndexBits(capacity: 192)
      let members = indexes.indices.filter { chosen >> $0 & 1 == 1 }.map { indexes[$0] }
      // Each member is inserted twice, and in either order.
      for member in chosen % 2 == 0 ? members : members.reversed() {
        bits.insert(member)
        bits.insert(member)
      }
      bits.checkInvariants()
      #expect(bits.count == members.count && (0..<192).filter(bits.contains) == members)
    }
  }
}
