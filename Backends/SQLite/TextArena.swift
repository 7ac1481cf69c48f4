/// A piece of memory for the texts of one run of a statement, used again for the next.
struct TextArena: ~Copyable {
  private static let capacity = 16_384
  /// Made when the first text comes: most statements take none.
  private var base: UnsafeMutableRawPointer?
  private var used = 0

  deinit { base?.deallocate() }

  /// Forgets all texts.
  mutating func clear() { used = 0 }

  /// Copies a text without a trailing zero; returns `nil` for lack of room.
  @inline(__always) mutating func add(_ text: String) -> (start: UnsafePointer<CChar>, count: Int)? {
    let base = base ?? makeBase()
    let start = base + used
    let room = Self.capacity - used
    let count = text.utf8.withContiguousStorageIfAvailable { bytes -> Int? in
      guard bytes.count <= room else { return nil }
      if let source = bytes.baseAddress { start.copyMemory(from: source, byteCount: bytes.count) }
      return bytes.count
    }
    guard case .some(.some(let count)) = count else { return nil }
    used += count
    // Safety of `assumingMemoryBound`: the arena has bytes alone.
    return (UnsafePointer(start.assumingMemoryBound(to: CChar.self)), count)
  }

  private mutating func makeBase() -> UnsafeMutableRawPointer {
    let memory = UnsafeMutableRawPointer.allocate(byteCount: Self.capacity, alignment: 1)
    base = memory
    return memory
  }
}
