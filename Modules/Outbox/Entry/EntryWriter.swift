import CoherenceCore
import Foundation

/// Writes values in the ``EntryFormat``.
struct EntryWriter {
  private(set) var bytes: [UInt8] = [EntryFormat.version]
  private var rootNames: [String] = []

  var data: Data { Data(bytes) }

  static func payload(_ fields: [EntryFormat.Field], _ members: [EntryFormat.Members]) -> Data {
    var writer = EntryWriter()
    writer.write(fields)
    writer.write(members)
    return writer.data
  }

  static func identity(_ fields: [EntryFormat.Field]) -> Data {
    var writer = EntryWriter()
    writer.write(fields)
    return writer.data
  }

  static func references(_ references: [EntryFormat.Reference]) -> Data {
    var writer = EntryWriter()
    writer.write(count: references.count)
    for reference in references {
      writer.bytes.append(reference.role.rawValue)
      writer.write(reference.record)
    }
    return writer.data
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

  private mutating func write(_ value: AttributeValue) {
    switch value {
    case .null: write(tag: .null)
    case .bool(let value): write(tag: value ? .true : .false)
    case .int(let value):
      write(tag: .int)
      write(signed: value)
    case .double(let value):
      write(tag: .double)
      withUnsafeBytes(of: value.bitPattern.littleEndian) { bytes.append(contentsOf: $0) }
    case .string(let value):
      write(tag: .string)
      write(text: value)
    case .data(let value):
      write(tag: .data)
      write(count: value.count)
      bytes.append(contentsOf: value)
    case .date(let value):
      write(tag: .date)
      write(signed: value.microseconds)
    case .uuid(let value):
      write(tag: .uuid)
      withUnsafeBytes(of: value.uuid) { bytes.append(contentsOf: $0) }
    case .decimal(let value):
      write(tag: .decimal)
      write(text: "\(value)")
    case .reference(let id):
      write(tag: .record)
      write(OutboxRecord(id))
    }
  }

  private mutating func write(tag: EntryFormat.Tag) { bytes.append(tag.rawValue) }

  private mutating func write(text: String) {
    write(count: text.utf8.count)
    bytes.append(contentsOf: text.utf8)
  }

  private mutating func write(count: Int) { write(unsigned: UInt64(count)) }

  private mutating func write(signed value: Int64) {
    write(unsigned: UInt64(bitPattern: (value << 1) ^ (value >> 63)))
  }

  private mutating func write(unsigned value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }
}
