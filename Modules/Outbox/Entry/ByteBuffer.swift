import Foundation

/// A growing buffer of bytes. Unlike an array, it does not check at each append whether its memory has other owners.
///
/// Safety of the pointer: the buffer cannot be copied, so that it alone uses the memory, and it frees the memory at its
/// end. `start` has room for `capacity` bytes, and `count` of them are initialized.
struct ByteBuffer: ~Copyable {
  private var start: UnsafeMutablePointer<UInt8>
  private var capacity: Int
  private(set) var count = 0

  init(capacity: Int = 512) {
    self.capacity = capacity
    start = .allocate(capacity: capacity)
  }

  deinit { start.deallocate() }

  var data: Data { Data(bytes: start, count: count) }

  @inline(__always) mutating func append(_ byte: UInt8) {
    if count == capacity { grow(by: 1) }
    start[count] = byte
    count += 1
  }

  @inline(__always) mutating func append(_ bytes: UnsafeRawBufferPointer) {
    guard let first = bytes.baseAddress, !bytes.isEmpty else { return }
    if capacity - count < bytes.count { grow(by: bytes.count) }
    UnsafeMutableRawPointer(start + count).copyMemory(from: first, byteCount: bytes.count)
    count += bytes.count
  }

  /// Replaces four bytes by a number, the lowest byte first.
  mutating func set(_ number: UInt32, at index: Int) {
    precondition(index >= 0 && index + 4 <= count, "The buffer does not have these bytes.")
    for shift in 0..<4 { start[index + shift] = UInt8(truncatingIfNeeded: number >> (8 * UInt32(shift))) }
  }

  @inline(never) private mutating func grow(by added: Int) {
    let newCapacity = max(capacity * 2, count + added)
    let new = UnsafeMutablePointer<UInt8>.allocate(capacity: newCapacity)
    new.update(from: start, count: count)
    start.deallocate()
    (start, capacity) = (new, newCapacity)
  }
}
