/// The indices that the identifiers of a list have in an earlier list.
///
/// A walk over both lists finds most of them, because lists that differ by a few moved, added and removed members agree
/// elsewhere. Only the other identifiers are hashed. Neither list has an identifier twice.
struct ListMatching {
  /// The index of each identifier in the earlier list; `nil` for an identifier that the earlier list does not have.
  private(set) var formerIndices: [Int?]
  /// Whether the earlier list has all identifiers of the list.
  private(set) var isComplete = true

  init(_ ids: [ManagedObjectID], in earlier: [ManagedObjectID]) {
    formerIndices = Array(repeating: nil, count: ids.count)
    // The identifiers that the walk does not find, and the identifiers of the earlier list that it leaves out.
    var unmatched: [Int] = []
    var skipped: [Int] = []
    var next = 0
    for index in ids.indices {
      if next < earlier.count, earlier[next] == ids[index] {
        formerIndices[index] = next
        next += 1
      } else if next + 1 < earlier.count, earlier[next + 1] == ids[index] {
        formerIndices[index] = next + 1
        skipped.append(next)
        next += 2
      } else {
        unmatched.append(index)
      }
    }
    guard !unmatched.isEmpty else { return }
    skipped += next..<earlier.count
    let indices = Dictionary(skipped.map { (earlier[$0], $0) }, uniquingKeysWith: { first, _ in first })
    for index in unmatched {
      formerIndices[index] = indices[ids[index]]
      if formerIndices[index] == nil { isComplete = false }
    }
  }
}
