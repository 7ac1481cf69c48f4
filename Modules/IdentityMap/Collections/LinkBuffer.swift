/// A list of plain data without the header, the sharing and the checks of an array: most nodes have one link or a few,
/// and propagation mostly walks along links.
///
/// Its owner frees the memory. Elements are moved and dropped as bytes, which the compiler admits for `BitwiseCopyable`
/// types alone.
///
/// Invariants, see ``checkInvariants()``: the first `size` of `capacity` elements are initialised, and an empty
/// capacity has no memory.
struct LinkBuffer<Link: BitwiseCopyable> {
  private var start: UnsafeMutablePointer<Link>?
  private var size: Int32 = 0
  private var capacity: Int32 = 0

  /// The elements, until the next insertion or removal.
  var links: UnsafeMutableBufferPointer<Link> { UnsafeMutableBufferPointer(start: start, count: count) }

  func deallocate() {
    start?.deallocate()
  }

  mutating func reserveCapacity(_ wanted: Int) {
    guard wanted > capacity else { return }
    let moved = UnsafeMutablePointer<Link>.allocate(capacity: wanted)
    if let start {
      moved.moveInitialize(from: start, count: count)
      start.deallocate()
    }
    start = moved
    capacity = Int32(wanted)
  }

  mutating func append(_ link: Link) {
    if size == capacity { reserveCapacity(size == 0 ? 1 : count * 2) }
    (start.unsafelyUnwrapped + count).initialize(to: link)
    size += 1
  }

  mutating func removeLast() -> Link? {
    guard size > 0 else { return nil }
    size -= 1
    let last = start.map { ($0 + count).move() }
    if size == 0 {
      start?.deallocate()
      (start, capacity) = (nil, 0)
    }
    return last
  }
}

extension LinkBuffer: RandomAccessCollection, MutableCollection {
  var startIndex: Int { 0 }
  var endIndex: Int { Int(size) }
  var count: Int { Int(size) }

  subscript(index: Int) -> Link {
    get { links[index] }
    nonmutating set { links[index] = newValue }
  }
}

extension LinkBuffer {
  /// Ends a debug build if an invariant of the buffer does not hold.
  func checkInvariants() {
    assert(size >= 0 && size <= capacity, "A link buffer has no more elements than its capacity.")
    assert((start == nil) == (capacity == 0), "A link buffer without capacity has no memory.")
  }
}
