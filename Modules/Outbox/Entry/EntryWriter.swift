import CoherenceCore
import Foundation

/// Writes values in the ``EntryFormat``.
struct EntryWriter: ~Copyable {
  private var bytes = ByteBuffer()
  /// The names of roots that are written already; later records refer to them by index.
  private var rootNames: [String] = []

  init() { bytes.append(EntryFormat.version) }

  var data: Data { bytes.data }
  /// The number of bytes so far.
  var count: Int { bytes.count }

  /// Returns the changes of an entry in the format.
  static func payload(_ fields: [EntryFormat.Field], _ members: [EntryFormat.Members]) -> Data {
    var writer = EntryWriter()
    writer.write(fields)
    writer.write(members)
    return writer.data
  }

  /// Returns the identifying values of an entry's record in the format.
  static func identity(_ fields: [EntryFormat.Field]) -> Data {
    var writer = EntryWriter()
    writer.write(fields)
    return writer.data
  }

  /// Returns the records that an entry relates to in the format.
  static func references(_ references: [EntryFormat.Reference]) -> Data {
    var writer = EntryWriter()
    writer.write(references)
    return writer.data
  }

  mutating func write(_ references: [EntryFormat.Reference]) {
    write(count: references.count)
    for reference in references {
      bytes.append(reference.role.rawValue)
      write(reference.record)
    }
  }

  mutating func write(_ fields: [EntryFormat.Field]) {
    write(count: fields.count)
    for field in fields { write(field: field.name, base: field.base, value: field.value) }
  }

  mutating func write(field name: String, base: OutboxValue?, value: OutboxValue?) {
    write(text: name)
    bytes.append(
      (base == nil ? 0 : EntryFormat.FieldFlag.base) | (value == nil ? 0 : EntryFormat.FieldFlag.value))
    if let base { write(base) }
    if let value { write(value) }
  }

  mutating func write(_ members: [EntryFormat.Members]) {
    write(count: members.count)
    for change in members {
      write(text: change.name)
      bytes.append(
        (change.isReordered ? EntryFormat.MemberFlag.reordered : 0)
          | (change.isOwner ? EntryFormat.MemberFlag.owner : 0))
      for records in [change.added, change.removed] {
        write(count: records.count)
        for record in records { write(record) }
      }
    }
  }

  mutating func write(_ record: OutboxRecord) {
    if let index = rootNames.firstIndex(of: record.rootName) {
      write(count: index)
    } else {
      write(count: rootNames.count)
      rootNames.append(record.rootName)
      write(text: record.rootName)
    }
    write(signed: record.key)
  }

  mutating func write(_ value: OutboxValue) {
    switch value {
    case .value(let value): write(value)
    case .record(let record):
      write(tag: .record)
      write(record)
    case .omitted(let byteCount):
      write(tag: .omitted)
      write(count: byteCount)
    }
  }

  mutating func write(_ value: AttributeValue) {
    switch value {
    case .null: write(tag: .null)
    case .bool(let value): write(tag: value ? .true : .false)
    case .int(let value):
      write(tag: .int)
      write(signed: value)
    case .double(let value):
      write(tag: .double)
      withUnsafeBytes(of: value.bitPattern.littleEndian) { bytes.append($0) }
    case .string(let value):
      write(tag: .string)
      write(text: value)
    case .data(let value):
      write(tag: .data)
      write(count: value.count)
      value.withUnsafeBytes { bytes.append($0) }
    case .date(let value):
      write(tag: .date)
      write(signed: value.microseconds)
    case .uuid(let value):
      write(tag: .uuid)
      withUnsafeBytes(of: value.uuid) { bytes.append($0) }
    case .decimal(let value):
      write(tag: .decimal)
      write(text: "\(value)")
    case .reference(let id):
      write(tag: .record)
      write(OutboxRecord(id))
    }
  }

  /// Appends bytes already in the format.
  @inline(__always) mutating func write(bytes added: UnsafeRawBufferPointer) { bytes.append(added) }

  @inline(__always) mutating func write(byte: UInt8) { bytes.append(byte) }

  /// Begins a part: reserves the four bytes of its size, and writes its version. A part has its own table of names.
  ///
  /// - Returns: The position for ``endPart(_:)``.
  mutating func beginPart() -> Int {
    let start = bytes.count
    writeEmptyPart()
    bytes.append(EntryFormat.version)
    if !rootNames.isEmpty { rootNames.removeAll(keepingCapacity: true) }
    return start
  }

  /// Ends a part: writes its size to the position from ``beginPart()``.
  mutating func endPart(_ start: Int) { bytes.set(UInt32(bytes.count - start - 4), at: start) }

  /// Writes the size zero, which stands for a missing part.
  mutating func writeEmptyPart() { for _ in 0..<4 { bytes.append(0) } }

  /// Writes a part from finished bytes; `nil` writes a missing part.
  mutating func writePart(_ data: Data?) {
    let start = bytes.count
    writeEmptyPart()
    guard let data else { return }
    data.withUnsafeBytes { bytes.append($0) }
    endPart(start)
  }

  private mutating func write(tag: EntryFormat.Tag) { bytes.append(tag.rawValue) }

  mutating func write(text: String) {
    var text = text
    text.withUTF8 { utf8 in
      write(count: utf8.count)
      bytes.append(UnsafeRawBufferPointer(utf8))
    }
  }

  mutating func write(count: Int) { write(unsigned: UInt64(count)) }

  mutating func write(signed value: Int64) {
    write(unsigned: UInt64(bitPattern: (value << 1) ^ (value >> 63)))
  }

  private mutating func write(unsigned value: UInt64) {
    if value < 0x80 { return bytes.append(UInt8(value)) }
    var rest = value
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }
}
