/// Finds a type's nodes by identifier: open addressing with linear probing. It keeps the hashes and no identifiers,
/// because the values have theirs; so a node costs it 20 to 40 bytes. It owns the nodes.
@usableFromInline
struct IdentityIndex<T: Identifiable & Sendable> {
  @usableFromInline var count = 0
  @usableFromInline var capacity = 0
  @usableFromInline var buckets: UnsafeMutablePointer<Bucket>
  /// Makes the hashes others than those of every other index, so that nobody can choose identifiers that meet.
  @usableFromInline let secret = UInt.random(in: .min ... .max)

  /// A node beside its hash: a search mostly waits for memory, and one place in it is found sooner than two.
  @usableFromInline struct Bucket {
    /// That of the node's identifier; 0 when the bucket is empty.
    @usableFromInline var hash: UInt32
    /// There when the bucket is not empty.
    @usableFromInline var node: Unmanaged<EntityNode<T>>?

    @inlinable init(hash: UInt32, node: Unmanaged<EntityNode<T>>?) {
      self.hash = hash
      self.node = node
    }
  }

  init() {
    buckets = .allocate(capacity: 0)
  }

  /// Lets go of the nodes and of the memory. Nothing may be asked of the index afterwards.
  func destroy() {
    for bucket in 0..<capacity { buckets[bucket].node?.release() }
    buckets.deallocate()
  }

  /// The hash of an identifier.
  ///
  /// Whole numbers, which most identifiers are, are mixed with a secret in one multiplication; the language's own hash
  /// takes as long as all the rest of a search.
  @inlinable func hash(_ id: T.ID) -> UInt32 {
    if T.ID.self == Int.self {
      let mixed = (unsafeBitCast(id, to: UInt.self) ^ secret).multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
      return UInt32(truncatingIfNeeded: mixed.high ^ mixed.low)
    }
    return UInt32(truncatingIfNeeded: id.hashValue)
  }

  /// The node of an identifier, not retained: the index has it until it is taken out.
  @inlinable func find(_ id: T.ID, hash: UInt32) -> Unmanaged<EntityNode<T>>? {
    guard count > 0 else { return nil }
    var place = home(hash)
    while let node = buckets[place].node {
      if buckets[place].hash == hash, node._withUnsafeGuaranteedRef({ $0.value.id == id }) { return node }
      place = next(place)
    }
    return nil
  }

  @inlinable func node(_ id: T.ID, hash: UInt32) -> EntityNode<T>? {
    find(id, hash: hash)?.takeUnretainedValue()
  }

  /// Takes in a node whose identifier is new.
  @inlinable mutating func insert(_ node: EntityNode<T>, hash: UInt32) {
    // At most four fifths full.
    if (count + 1) * 5 > capacity * 4 { resize(to: max(8, capacity * 2)) }
    place(Bucket(hash: hash, node: .passRetained(node)))
    count += 1
  }

  mutating func remove(_ node: EntityNode<T>, hash: UInt32) {
    guard count > 0 else { return }
    var hole = home(hash)
    while let other = buckets[hole].node, other.toOpaque() != Unmanaged.passUnretained(node).toOpaque() {
      hole = next(hole)
    }
    guard let found = buckets[hole].node else { return }
    found.release()
    close(&hole)
    buckets[hole] = Bucket(hash: 0, node: nil)
    count -= 1
    if capacity > 64, count * 8 < capacity { resize(to: capacity / 2) }
  }

  func forEach(_ body: (EntityNode<T>) -> Void) {
    for place in 0..<capacity {
      if let node = buckets[place].node { body(node.takeUnretainedValue()) }
    }
  }

  /// Moves up what follows a hole and would not be found beyond it.
  private mutating func close(_ hole: inout Int) {
    var place = next(hole)
    while buckets[place].node != nil {
      let wanted = home(buckets[place].hash)
      if (place - wanted) & (capacity - 1) >= (place - hole) & (capacity - 1) {
        buckets[hole] = buckets[place]
        hole = place
      }
      place = next(place)
    }
  }

  @inlinable mutating func place(_ bucket: Bucket) {
    var place = home(bucket.hash)
    while buckets[place].node != nil { place = next(place) }
    buckets[place] = bucket
  }

  @usableFromInline mutating func resize(to size: Int) {
    let (old, oldCapacity) = (buckets, capacity)
    capacity = size
    buckets = .allocate(capacity: size)
    buckets.initialize(repeating: Bucket(hash: 0, node: nil), count: size)
    for place in 0..<oldCapacity where old[place].node != nil { self.place(old[place]) }
    old.deallocate()
  }

  @inlinable func home(_ hash: UInt32) -> Int {
    Int(truncatingIfNeeded: hash) & (capacity &- 1)
  }

  @inlinable func next(_ place: Int) -> Int {
    (place &+ 1) & (capacity &- 1)
  }
}
