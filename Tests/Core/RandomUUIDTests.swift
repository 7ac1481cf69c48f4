import CoherenceCore
import Foundation
import Testing

@Suite struct RandomUUIDTests {
  @Test func `random UUIDs differ, and have the version and the variant of random UUIDs`() {
    let ids = (0..<1000).map { _ in UUID.random() }
    #expect(Set(ids).count == ids.count)
    #expect(ids.allSatisfy { $0.uuid.6 & 0xF0 == 0x40 && $0.uuid.8 & 0xC0 == 0x80 })
    // Every other bit has both values.
    let bits = ids.map { withUnsafeBytes(of: $0.uuid) { Array($0) } }
    for byte in 0..<16 {
      let all = bits.reduce((UInt8.max, UInt8.min)) { ($0.0 & $1[byte], $0.1 | $1[byte]) }
      let fixed: UInt8 = byte == 6 ? 0xF0 : byte == 8 ? 0xC0 : 0
      #expect(all.0 & ~fixed == 0 && all.1 | fixed == .max)
    }
  }
}
