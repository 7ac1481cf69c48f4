package import Foundation

extension UUID {
  /// Returns a random UUID, version 4.
  ///
  /// `UUID()` of Foundation opens, reads and closes a file on Linux, which costs more than the insert of a row. The
  /// system's generator needs none of this.
  package static func random() -> UUID {
    var generator = SystemRandomNumberGenerator()
    // The version and the variant of random UUIDs.
    let high = generator.next() & ~0xF000 | 0x4000
    let low = generator.next() & (.max >> 2) | 1 << 63
    return withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { UUID(uuid: $0.load(as: uuid_t.self)) }
  }
}
