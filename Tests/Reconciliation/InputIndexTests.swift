import CoherenceCore
import CoherenceReconciliation
import Testing

@Suite("Finding input records by key")
struct InputIndexTests {
  /// Keys of two attributes.
  private struct PairInput: KeyedInput {
    let keys: [[AttributeValue]]
    var count: Int { keys.count }
    func readKey(_ index: Int, into key: inout [AttributeValue]) { key = keys[index] }
  }

  private func index(_ keys: [[AttributeValue]], replacesEarlier: Bool = false) throws -> InputIndex {
    let index = InputIndex(PairInput(keys: keys), keyWidth: 2)
    for key in keys.indices { _ = try index.insert(key, key: keys[key], replacesEarlier: replacesEarlier) }
    return index
  }

  @Test func `every key among thousands finds its record, and other keys find none`() throws {
    let keys = (0..<5_000).map { [AttributeValue.int(Int64($0 / 70)), .string("\($0 % 70)")] }
    let index = try index(keys)
    for key in keys.indices { #expect(try index.index(of: keys[key]) == key) }
    #expect(try index.index(of: [.int(0), .string("70")]) == nil)
    #expect(try index.index(of: [.int(72), .string("0")]) == nil)
    #expect(index.excludedCount == 0)
  }

  @Test func `of records with one key, either the first or the last stays in the index`() throws {
    let keys: [[AttributeValue]] = [[.int(1), .int(2)], [.int(2), .int(1)], [.int(1), .int(2)], [.int(1), .int(2)]]
    for replacesEarlier in [false, true] {
      let index = try index(keys, replacesEarlier: replacesEarlier)
      #expect(try index.index(of: keys[0]) == (replacesEarlier ? 3 : 0))
      #expect(keys.indices.filter(index.isExcluded) == (replacesEarlier ? [0, 2] : [2, 3]))
      #expect(index.excludedCount == 2)
    }
  }

  @Test func `the keys without a match are those of the remaining records`() throws {
    let keys = (0..<4).map { [AttributeValue.int(Int64($0)), .int(0)] }
    let index = try index(keys)
    index.exclude(3)
    var matched = IndexBits(capacity: keys.count)
    matched.insert(1)
    matched.insert(1)
    #expect(matched.count == 1)
    #expect(index.indexes(notIn: matched) == [0, 2])
    #expect(try index.keys(notIn: matched).columns == [[.int(0), .int(2)], [.int(0), .int(0)]])
  }
}
