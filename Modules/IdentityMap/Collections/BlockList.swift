/// A stack that grows by blocks and never moves its elements: for undo logs of any length.
///
/// Its owner removes all elements before the lifetime of the list ends.
///
/// Invariants, see ``checkInvariants()``: all blocks but the last are full, the last block has an element, and `next`
/// points into it or to its end. A list without blocks has no pointers.
@usableFromInline
struct BlockList<Element> {
  private var blocks: [UnsafeMutablePointer<Element>] = []
  /// The slot after the last element.
  @usableFromInline var next: UnsafeMutablePointer<Element>?
  /// The end of the last block.
  @usableFromInline var end: UnsafeMutablePointer<Element>?

  /// The number of elements in a block. A block has about 16 KB, so that an allocation rarely calls the system.
  static var blockSize: Int { max(16, 16_384 / MemoryLayout<Element>.stride) }

  init() {}

  var count: Int {
    guard let last = blocks.last, let next else { return 0 }
    return (blocks.count - 1) * Self.blockSize + (next - last)
  }

  @inlinable mutating func append(_ element: consuming Element) {
    if next == end { addBlock() }
    guard let slot = next else { return }
    slot.initialize(to: element)
    next = slot + 1
  }

  @usableFromInline mutating func addBlock() {
    let block = UnsafeMutablePointer<Element>.allocate(capacity: Self.blockSize)
    blocks.append(block)
    next = block
    end = block + Self.blockSize
  }

  /// Removes and returns the last element; `nil` for an empty list.
  mutating func removeLast() -> Element? {
    guard let block = blocks.last, let slot = next.map({ $0 - 1 }) else { return nil }
    let last = slot.move()
    next = slot
    if slot == block { removeLastBlock() }
    return last
  }

  mutating func removeAll() {
    while let block = blocks.last, let next {
      block.deinitialize(count: next - block)
      removeLastBlock()
    }
  }

  /// Called when the last block is empty.
  private mutating func removeLastBlock() {
    blocks.popLast()?.deallocate()
    end = blocks.last.map { $0 + Self.blockSize }
    next = end
  }

  /// Calls a closure with the elements of a range of indices, in their order.
  func forEach(in range: Range<Int>, _ body: (Element) -> Void) {
    assert(range.lowerBound >= 0 && range.upperBound <= count, "A block list visits elements that it has.")
    let size = Self.blockSize
    var start = range.lowerBound
    while start < range.upperBound {
      let end = min(range.upperBound, (start / size + 1) * size)
      let block = blocks[start / size]
      for slot in (start % size)..<(start % size + end - start) { body(block[slot]) }
      start = end
    }
  }
}

extension BlockList {
  /// Ends a debug build if an invariant of the list does not hold.
  func checkInvariants() {
    guard let block = blocks.last, let next, let end else {
      return assert(blocks.isEmpty && next == nil && end == nil, "A block list without blocks has no pointers.")
    }
    assert(end == block + Self.blockSize, "The end of a block list is that of its last block.")
    assert(next > block && next <= end, "The last block of a block list has an element.")
  }
}
