/// A block of memory for the texts bound to one run of a statement, reused for the next run. SQLite reads the texts
/// there, and makes no copies.
struct TextArena: ~Copyable {
  private static let capacity = 16_384
  /// Allocated for the first text: most statements bind none.
  private var base: UnsafeMutableRawPointer?
  private var used = 0

  deinit { base?.deallocate() }

  /// Frees the memory for the texts of the next run. No run may use the former texts afterwards.
  mutating func clear() { used = 0 }

  /// Copies a text into the arena, without a trailing zero. The copy lasts until ``clear()``.
  ///
  /// - Returns: The copy; `nil` if the rest of the arena is too small, or if the text is not contiguous in memory.
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
