/// Finds a type's nodes by identifier: open addressing with linear probing. It keeps the hashes and no identifiers,
/// because the values have theirs; so a node costs it 12 to 30 bytes. It owns the nodes.
@usableFromInline
struct IdentityIndex<T: Identifiable & Sendable> {
  @usableFromInline var count = 0
  @usableFromInline var capacity = 0
  /// Of each bucket the hash of its node's identifier; 0 is an empty one.
  @usableFromInline var hashes: UnsafeMutablePointer<UInt32>
  @usableFromInline var nodes: UnsafeMutablePointer<Unmanaged<EntityNode<T>>>
  /// Makes the hashes others than those of every other index, so that nobody can choose identifiers that meet.
  @usableFromInline let secret = UInt.random(in: .min ... .max)

  init() {
    hashes = .allocate(capacity: 0)
    nodes = .allocate(capacity: 0)
  }

  /// Lets go of the nodes and of the memory. Nothing may be asked of the index afterwards.
  func destroy() {
    for bucket in 0..<capacity where hashes[bucket] != 0 { nodes[bucket].release() }
    hashes.deallocate()
    nodes.deallocate()
  }

  /// The hash of an identifier, never 0.
  ///
  /// Whole numbers, which most identifiers are, are mixed with a secret in one multiplication; the language's own hash
  /// takes as long as all the rest of a search.
  @inlinable func hash(_ id: T.ID) -> UInt32 {
    if T.ID.self == Int.self {
      let mixed = (unsafeBitCast(id, to: UInt.self) ^ secret).multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
      return UInt32(truncatingIfNeeded: mixed.high ^ mixed.low) | 1 << 31
    }
    return UInt32(truncatingIfNeeded: id.hashValue) | 1 << 31
  }

  /// The node of an identifier, not retained: the index has it until it is taken out.
  @inlinable func find(_ id: T.ID, hash: UInt32) -> Unmanaged<EntityNode<T>>? {
    guard count > 0 else { return nil }
    var bucket = home(hash)
    while hashes[bucket] != 0 {
      if hashes[bucket] == hash, nodes[bucket]._withUnsafeGuaranteedRef({ $0.value.id == id }) { return nodes[bucket] }
      bucket = next(bucket)
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
    place(.passRetained(node), hash: hash)
    count += 1
  }

  mutating func remove(_ node: EntityNode<T>, hash: UInt32) {
    guard count > 0 else { return }
    var hole = home(hash)
    while hashes[hole] != 0, nodes[hole].toOpaque() != Unmanaged.passUnretained(node).toOpaque() { hole = next(hole) }
    guard hashes[hole] != 0 else { return }
    nodes[hole].release()
    close(&hole)
    hashes[hole] = 0
    count -= 1
    if capacity > 64, count * 8 < capacity { resize(to: capacity / 2) }
  }

  func forEach(_ body: (EntityNode<T>) -> Void) {
    for bucket in 0..<capacity where hashes[bucket] != 0 { body(nodes[bucket].takeUnretainedValue()) }
  }

  /// Moves up what follows a hole and would not be found beyond it.
  private mutating func close(_ hole: inout Int) {
    var bucket = next(hole)
    while hashes[bucket] != 0 {
      let wanted = home(hashes[bucket])
      if (bucket - wanted) & (capacity - 1) >= (bucket - hole) & (capacity - 1) {
        hashes[hole] = hashes[bucket]
        nodes[hole] = nodes[bucket]
        hole = bucket
      }
      bucket = next(bucket)
    }
  }

  @inlinable mutating func place(_ node: Unmanaged<EntityNode<T>>, hash: UInt32) {
    var bucket = home(hash)
    while hashes[bucket] != 0 { bucket = next(bucket) }
    hashes[bucket] = hash
    nodes[bucket] = node
  }

  @usableFromInline mutating func resize(to size: Int) {
    let (oldHashes, oldNodes, oldCapacity) = (hashes, nodes, capacity)
    capacity = size
    hashes = .allocate(capacity: size)
    hashes.initialize(repeating: 0, count: size)
    nodes = .allocate(capacity: size)
    for bucket in 0..<oldCapacity where oldHashes[bucket] != 0 { place(oldNodes[bucket], hash: oldHashes[bucket]) }
    oldHashes.deallocate()
    oldNodes.deallocate()
  }

  @inlinable func home(_ hash: UInt32) -> Int {
    Int(truncatingIfNeeded: hash) & (capacity - 1)
  }

  @inlinable func next(_ bucket: Int) -> Int {
    (bucket &+ 1) & (capacity - 1)
  }
}
