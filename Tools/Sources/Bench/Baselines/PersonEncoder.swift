import Foundation

/// Writes records in PostgreSQL's binary form into a reused buffer: for a COPY, or as the parameters of a statement.
struct PersonEncoder {
  private(set) var bytes: [UInt8] = []
  /// The offset of each parameter's bytes, and their number; -1 for a missing value. Empty for a COPY, whose bytes have the
  /// lengths.
  private(set) var fields: [(start: Int, count: Int)] = []

  init() { bytes.reserveCapacity(1 << 17) }

  mutating func clear() {
    bytes.removeAll(keepingCapacity: true)
    fields.removeAll(keepingCapacity: true)
  }

  // MARK: COPY

  /// The header of the format: the signature, no flags, and an extension of no bytes.
  mutating func beginCopy() {
    bytes.append(contentsOf: Array("PGCOPY\n".utf8) + [0xFF, 0x0D, 0x0A, 0x00])
    append(Int32(0))
    append(Int32(0))
  }

  /// The trailer of the format, in place of a tuple's number of fields.
  mutating func endCopy() { append(Int16(-1)) }

  /// One tuple: the number of fields, and each with its length.
  mutating func appendTuple(_ person: Person) {
    append(Int16(11))
    encode(person, withLengths: true)
  }

  // MARK: Parameters

  /// The parameters of a statement, whose positions are in `fields`.
  mutating func appendParameters(_ person: Person) { encode(person, withLengths: false) }

  // MARK: Fields

  private mutating func encode(_ person: Person, withLengths: Bool) {
    field(person.id, withLengths)
    field(person.uuid, withLengths)
    field(person.firstName, withLengths)
    field(person.middleName, withLengths)
    field(person.lastName, withLengths)
    field(person.email, withLengths)
    field(Int64(person.age), withLengths)
    field(Int64(bitPattern: person.score.bitPattern), withLengths)
    field(person.created.microseconds - PostgreSQLTuple.epoch, withLengths)
    field(UInt8(person.isActive ? 1 : 0), withLengths)
    if let notes = person.notes { field(notes, withLengths) } else { missing(withLengths) }
  }

  @inline(__always) private mutating func append<I: FixedWidthInteger>(_ value: I) {
    withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
  }

  @inline(__always) private mutating func field<I: FixedWidthInteger>(_ value: I, _ withLengths: Bool) {
    prepare(I.bitWidth / 8, withLengths)
    append(value)
  }

  @inline(__always) private mutating func field(_ text: String, _ withLengths: Bool) {
    var text = text
    text.withUTF8 {
      prepare($0.count, withLengths)
      bytes.append(contentsOf: $0)
    }
  }

  private mutating func missing(_ withLengths: Bool) {
    if withLengths { append(Int32(-1)) } else { fields.append((bytes.count, -1)) }
  }

  /// Writes the length of the next field for a COPY, or adds its position to the fields of a statement.
  @inline(__always) private mutating func prepare(_ count: Int, _ withLengths: Bool) {
    if withLengths { append(Int32(count)) } else { fields.append((bytes.count, count)) }
  }
}
