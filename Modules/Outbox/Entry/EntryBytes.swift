import Foundation

/// Data in the ``EntryFormat``: a range of a buffer. The changes of a save share the buffer of their log.
struct EntryBytes {
  let bytes: [UInt8]
  let range: Range<Int>

  init(_ bytes: [UInt8], in range: Range<Int>) {
    self.bytes = bytes
    self.range = range
  }

  init(_ data: Data) { self.init([UInt8](data), in: 0..<data.count) }
}
