/// The entries of a live result in order, in chunks of some hundred entries.
///
/// A copy shares the chunks, and a change copies only the chunks that it touches. Keeping a former state therefore does
/// not make later changes copy all entries.
///
/// Invariants, see ``checkInvariants()``: no chunk is empty, the entries are in strictly ascending order, and `count`
/// is their number.
struct SortedEntries: Sendable {
  private static let chunkSize = 256

  let order: ResultOrder
  private(set) var chunks: [[ResultEntry]] = []
  private(set) var count = 0

  /// Makes a list of entries in any order.
  init(_ entries: [ResultEntry] = [], order: ResultOrder) {
    self.order = order
    let isSorted = entries.indices.dropFirst().allSatisfy { order.precedes(entries[$0 - 1], entries[$0]) }
    let sorted = isSorted ? entries : entries.sorted(by: order.precedes)
    for start in stride(from: 0, to: sorted.count, by: Self.chunkSize) {
      chunks.append(Array(sorted[start..<min(start + Self.chunkSize, sorted.count)]))
    }
    count = sorted.count
  }

  var last: ResultEntry? { chunks.last?.last }

  mutating func insert(_ entry: ResultEntry) {
    count += 1
    guard !chunks.isEmpty else { return chunks.append([entry]) }
    let chunk = min(chunkIndex(of: entry), chunks.count - 1)
    chunks[chunk].insert(entry, at: offset(of: entry, in: chunks[chunk]))
    guard chunks[chunk].count > 2 * Self.chunkSize else { return }
    let second = Array(chunks[chunk][Self.chunkSize...])
    chunks[chunk].removeLast(second.count)
    chunks.insert(second, at: chunk + 1)
  }

  /// Removes an entry, found by its values and its identifier.
  mutating func remove(_ entry: ResultEntry) {
    guard let (chunk, offset) = find(entry) else { return }
    count -= 1
    chunks[chunk].remove(at: offset)
    if chunks[chunk].isEmpty {
      chunks.remove(at: chunk)
    } else if chunks[chunk].count < Self.chunkSize / 4, chunk + 1 < chunks.count,
      chunks[chunk + 1].count < Self.chunkSize
    {
      chunks[chunk] += chunks.remove(at: chunk + 1)
    }
  }

  /// Replaces an entry by an entry with the same position in the order.
  mutating func replace(_ entry: ResultEntry) {
    guard let (chunk, offset) = find(entry) else { return }
    chunks[chunk][offset] = entry
  }

  /// Removes and returns all entries after the first `kept` entries.
  mutating func removeLast(keeping kept: Int) -> [ResultEntry] {
    var removed: [ResultEntry] = []
    while count > kept, let last = chunks.last {
      let excess = min(count - kept, last.count)
      removed = Array(last.suffix(excess)) + removed
      chunks[chunks.count - 1].removeLast(excess)
      if excess == last.count { chunks.removeLast() }
      count -= excess
    }
    return removed
  }

  /// The number of entries before each chunk.
  var starts: [Int] {
    var start = 0
    return chunks.map { chunk in
      defer { start += chunk.count }
      return start
    }
  }

  /// The number of entries before the position of an entry, which need not be in the list.
  ///
  /// - Parameter starts: The list's ``starts``.
  func rank(of entry: ResultEntry, _ starts: [Int]) -> Int {
    let chunk = chunkIndex(of: entry)
    return chunk < chunks.count ? starts[chunk] + offset(of: entry, in: chunks[chunk]) : count
  }

  /// The entries in a range.
  func entries(in range: Range<Int>) -> [ResultEntry] {
    var result: [ResultEntry] = []
    result.reserveCapacity(range.count)
    var start = 0
    for chunk in chunks where start < range.upperBound {
      let end = start + chunk.count
      if end > range.lowerBound {
        result += chunk[max(range.lowerBound - start, 0)..<min(range.upperBound - start, chunk.count)]
      }
      start = end
    }
    return result
  }

  // MARK: Search

  /// The first chunk whose last entry does not precede an entry.
  private func chunkIndex(of entry: ResultEntry) -> Int {
    Self.partition(chunks.count) { order.precedes(chunks[$0][chunks[$0].count - 1], entry) }
  }

  private func offset(of entry: ResultEntry, in chunk: [ResultEntry]) -> Int {
    Self.partition(chunk.count) { order.precedes(chunk[$0], entry) }
  }

  private func find(_ entry: ResultEntry) -> (chunk: Int, offset: Int)? {
    let chunk = chunkIndex(of: entry)
    guard chunk < chunks.count else { return nil }
    let offset = offset(of: entry, in: chunks[chunk])
    guard offset < chunks[chunk].count, chunks[chunk][offset].id == entry.id else { return nil }
    return (chunk, offset)
  }

  /// The number of leading elements that satisfy a condition, which no later element does.
  static func partition(_ count: Int, _ isBefore: (Int) -> Bool) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if isBefore(middle) { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// Ends a debug build if an invariant of the list does not hold.
  func checkInvariants() {
    let all = chunks.flatMap(\.self)
    assert(chunks.allSatisfy { !$0.isEmpty }, "No chunk is empty.")
    assert(all.count == count, "The list counts its entries.")
    assert(zip(all, all.dropFirst()).allSatisfy(order.precedes), "The entries are in order.")
  }
}
