/// The memory of a plain stored property of an aggregate.
@usableFromInline
struct StoredPropertyLayout {
  /// The range of the property in the memory of a value.
  @usableFromInline let bytes: Range<Int>
  /// Whether two values at addresses are known to be identical at the key path.
  @usableFromInline let isRepetition: (UnsafeRawPointer, UnsafeRawPointer) -> Bool

  @inlinable init<Part>(at offset: Int, _ shape: NestedShape<Part>) {
    bytes = offset..<(offset + MemoryLayout<Part>.size)
    // Safety of `assumingMemoryBound`: both addresses are those of initialised values, and the offset of a stored
    // property, which `MemoryLayout.offset(of:)` returns, leads to the property in each.
    let isRepetition = shape.isRepetition
    self.isRepetition = { value, former in
      isRepetition(
        (value + offset).assumingMemoryBound(to: Part.self).pointee,
        (former + offset).assumingMemoryBound(to: Part.self).pointee)
    }
  }
}
