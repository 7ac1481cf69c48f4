import Foundation

/// A growing buffer of bytes in network order, reused for all data sent to the server.
final class ByteBuffer {
  private(set) var base: UnsafeMutableRawPointer
  private(set) var count = 0
  private var capacity: Int

  init(capacity: Int = 4096) {
    self.capacity = max(capacity, 64)
    base = UnsafeMutableRawPointer.allocate(byteCount: self.capacity, alignment: 8)
  }

  deinit { base.deallocate() }

  func removeAll() { count = 0 }

  @inline(__always)
  func append<Integer: FixedWidthInteger>(_ value: Integer) {
    let size = MemoryLayout<Integer>.size
    reserve(size)
    (base + count).storeBytes(of: value.bigEndian, as: Integer.self)
    count += size
  }

  @inline(__always)
  func append(_ bytes: UnsafeRawBufferPointer) {
    guard let start = bytes.baseAddress, bytes.count > 0 else { return }
    reserve(bytes.count)
    (base + count).copyMemory(from: start, byteCount: bytes.count)
    count += bytes.count
  }

  @inline(__always)
  func append(_ text: String) {
    var text = text
    text.withUTF8 { append(UnsafeRawBufferPointer($0)) }
  }

  /// Appends a text with its length before it.
  @inline(__always)
  func append(textField text: String) {
    let appended: Void? = text.utf8.withContiguousStorageIfAvailable { bytes in
      append(Int32(clamping: bytes.count))
      append(UnsafeRawBufferPointer(bytes))
    }
    if appended != nil { return }
    append(Int32(clamping: text.utf8.count))
    append(text)
  }

  /// Overwrites bytes that were appended before.
  func overwrite(_ value: Int32, at offset: Int) { (base + offset).storeBytes(of: value.bigEndian, as: Int32.self) }

  @inline(__always)
  private func reserve(_ size: Int) {
    if count + size > capacity { grow(to: count + size) }
  }

  private func grow(to needed: Int) {
    capacity = max(needed, capacity * 2)
    let larger = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 8)
    larger.copyMemory(from: base, byteCount: count)
    base.deallocate()
    base = larger
  }
}

extension UnsafeRawPointer {
  /// The integer in network order at the address.
  @inline(__always)
  func bigEndian<Integer: FixedWidthInteger>(_ type: Integer.Type = Integer.self) -> Integer {
    Integer(bigEndian: loadUnaligned(as: type))
  }
}
