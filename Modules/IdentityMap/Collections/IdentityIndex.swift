/// A hash table of a type's nodes by identifier, with open addressing and linear probing. The index has only the hashes
/// of the identifiers, because the values of the nodes contain the identifiers: a node costs a growing index 20 to 40
/// bytes. The index owns the nodes.
///
/// Invariants, see ``checkInvariants()``:
/// - The capacity is zero or a power of two, and at most four fifths of the buckets are occupied. A search therefore
///   ends at an empty bucket.
/// - All buckets from the home of a hash to the bucket of its element are occupied, and each element is in one bucket.
///   A search therefore finds every element.
/// - The index retains each element, and releases a removed element after the buckets are consistent again.
@usableFromInline
struct IdentityIndex<Element: AnyObject> {
  @usableFromInline var count = 0
  @usableFromInline var capacity = 0
  @usableFromInline var buckets: UnsafeMutablePointer<Bucket>
  /// Mixed into the hashes, so that chosen identifiers cannot be made to collide.
  @usableFromInline let secret = UInt.random(in: .min ... .max)

  /// An element beside its hash: a search mostly waits for memory, and one cache miss fetches both.
  @usableFromInline struct Bucket {
    /// The hash of the node's identifier; 0 in an empty bucket.
    @usableFromInline var hash: UInt32
    /// The element; `nil` in an empty bucket.
    @usableFromInline var element: Unmanaged<Element>?

    @inlinable init(hash: UInt32, element: Unmanaged<Element>?) {
      self.hash = hash
      self.element = element
    }
  }

  init() {
    buckets = .allocate(capacity: 0)
  }

  /// Releases the elements and frees the memory. The index must not be used afterwards.
  func destroy() {
    for bucket in 0..<capacity { buckets[bucket].element?.release() }
    buckets.deallocate()
  }

  /// The hash of an identifier.
  ///
  /// Most identifiers are whole numbers. One multiplication mixes them with the secret, because the language's own hash
  /// takes as long as the other steps of a search together.
  @inlinable func hash<ID: Hashable>(_ id: ID) -> UInt32 {
    if ID.self == Int.self {
      let mixed = (unsafeBitCast(id, to: UInt.self) ^ secret).multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
      return UInt32(truncatingIfNeeded: mixed.high ^ mixed.low)
    }
    return UInt32(truncatingIfNeeded: id.hashValue)
  }

  /// Returns the element with a hash that meets a condition. It is not retained: the index owns it until it is removed.
  ///
  /// Inlined everywhere, so that the condition is compiled into the loop.
  @inlinable @inline(__always)
  func find(_ hash: UInt32, where isMatch: (Element) -> Bool) -> Unmanaged<Element>? {
    guard count > 0 else { return nil }
    var bucket = home(hash)
    while let element = buckets[bucket].element {
      if buckets[bucket].hash == hash, element._withUnsafeGuaranteedRef({ isMatch($0) }) { return element }
      bucket = next(bucket)
    }
    return nil
  }

  /// Adds an element whose identifier is new.
  @inlinable mutating func insert(_ element: Element, hash: UInt32) {
    // At most four fifths full.
    if (count + 1) * 5 > capacity * 4 { resize(to: max(8, capacity * 2)) }
    fill(Bucket(hash: hash, element: .passRetained(element)))
    count += 1
  }

  mutating func remove(_ element: Element, hash: UInt32) {
    guard count > 0 else { return }
    var hole = home(hash)
    while let other = buckets[hole].element, other.toOpaque() != Unmanaged.passUnretained(element).toOpaque() {
      hole = next(hole)
    }
    guard let found = buckets[hole].element else { return }
    close(&hole)
    buckets[hole] = Bucket(hash: 0, element: nil)
    count -= 1
    if capacity > 64, count * 8 < capacity { resize(to: capacity / 2) }
    // The last reference may run a `deinit` that uses the index.
    found.release()
  }

  func forEach(_ body: (Element) -> Void) {
    for bucket in 0..<capacity {
      if let element = buckets[bucket].element { body(element.takeUnretainedValue()) }
    }
  }

  /// Moves later elements back into a hole (backward-shift deletion), so that a search for them does not end at it.
  private mutating func close(_ hole: inout Int) {
    var bucket = next(hole)
    while buckets[bucket].element != nil {
      let wanted = home(buckets[bucket].hash)
      if (bucket - wanted) & (capacity - 1) >= (bucket - hole) & (capacity - 1) {
        buckets[hole] = buckets[bucket]
        hole = bucket
      }
      bucket = next(bucket)
    }
  }

  /// Puts an element into the first empty bucket from the home of its hash.
  @inlinable mutating func fill(_ content: Bucket) {
    var bucket = home(content.hash)
    while buckets[bucket].element != nil { bucket = next(bucket) }
    buckets[bucket] = content
  }

  @usableFromInline mutating func resize(to size: Int) {
    let (old, oldCapacity) = (buckets, capacity)
    capacity = size
    buckets = .allocate(capacity: size)
    buckets.initialize(repeating: Bucket(hash: 0, element: nil), count: size)
    for bucket in 0..<oldCapacity where old[bucket].element != nil { fill(old[bucket]) }
    old.deallocate()
    // As rare as growing, so that the time of the check in debug builds stays proportional to the insertions.
    checkInvariants()
  }

  /// The bucket at which the search for a hash begins.
  @inlinable func home(_ hash: UInt32) -> Int {
    Int(truncatingIfNeeded: hash) & (capacity &- 1)
  }

  @inlinable func next(_ bucket: Int) -> Int {
    (bucket &+ 1) & (capacity &- 1)
  }
}

extension IdentityIndex {
  /// Ends a debug build if an invariant of the index does not hold. Takes time proportional to the capacity, and none
  /// in a release build.
  func checkInvariants() {
    assert(capacity & (capacity - 1) == 0, "The capacity of an identity index is zero or a power of two.")
    assert(count * 5 <= capacity * 4, "At most four fifths of an identity index's buckets are occupied.")
    assert(occupiedCount == count, "An identity index counts its occupied buckets.")
    assert((0..<capacity).allSatisfy(isReachable), "A search in an identity index finds every occupied bucket.")
  }

  private var occupiedCount: Int { (0..<capacity).reduce(0) { buckets[$1].element == nil ? $0 : $0 + 1 } }

  /// Whether a bucket is empty, or the search for its element ends at it.
  private func isReachable(_ bucket: Int) -> Bool {
    guard let element = buckets[bucket].element else { return buckets[bucket].hash == 0 }
    var found = home(buckets[bucket].hash)
    while let other = buckets[found].element, other.toOpaque() != element.toOpaque() { found = next(found) }
    return found == bucket
  }
}
