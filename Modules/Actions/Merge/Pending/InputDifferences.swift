import CoherenceCore

/// The values of input records that differ from the values of their rows, in one list for all records.
struct InputDifferences {
  struct Difference {
    let slot: Int
    let value: AttributeValue
  }

  /// The greatest number of noted differences of an input record; of a record with more differences, none is noted. A
  /// pending edit rarely has more properties.
  private static let maximum = 4

  private var all: [Difference] = []
  private var ranges: [Int: Range<Int>] = [:]

  /// The differences of an input record; `nil` if they are not noted.
  subscript(index: Int) -> ArraySlice<Difference>? { ranges[index].map { all[$0] } }

  /// Notes the differences of an input record, unless they are too many.
  mutating func note(_ index: Int, of row: Row, from values: ArraySlice<AttributeValue?>) {
    let start = all.count
    for slot in values.indices {
      guard let value = values[slot], row[slot] != value else { continue }
      guard all.count - start < Self.maximum else {
        all.removeSubrange(start...)
        return
      }
      all.append(Difference(slot: slot, value: value))
    }
    ranges[index] = start..<all.count
  }

  mutating func remove(_ indexes: Set<Int>) {
    for index in indexes { ranges[index] = nil }
  }
}
