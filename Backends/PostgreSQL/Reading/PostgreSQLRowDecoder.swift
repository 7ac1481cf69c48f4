import CoherenceCore
import CoherenceSQL
import Foundation

/// Decodes the rows of a statement into rows of a hierarchy. The decoding of each column is chosen once.
final class PostgreSQLRowDecoder: Sendable {
  private let layout: RowLayout
  private let space: IDSpace
  private let decoders: [EntityDecoder]

  /// The decoder of one entity's rows.
  private final class EntityDecoder: Sendable {
    let entity: EntityDescription
    /// The name of the entity in records, compared with the bytes of the third column.
    let name: [UInt8]
    /// The columns by slot.
    let columns: [Column]
    /// The spaces by slot, see ``RowLayout/spaces(of:in:)``.
    let spaces: [IDSpace]

    init(_ entity: EntityDescription, recordName: String, positions: [Int], spaces: [IDSpace]) {
      self.entity = entity
      name = Array(recordName.utf8)
      columns = zip(entity.slots, positions).map { Column(storage: $0.storage, index: $1) }
      self.spaces = spaces
    }
  }

  /// The column of a slot, with its index in the statement.
  private struct Column: Sendable {
    let storage: StorageType
    let index: Int
  }

  init(_ layout: RowLayout, spaces: IDSpaces) {
    self.layout = layout
    space = spaces[layout.table.root]
    decoders = zip(layout.entities, layout.positions).map {
      EntityDecoder(
        $0, recordName: layout.table.recordName(of: $0), positions: $1, spaces: layout.spaces(of: $0, in: spaces))
    }
  }

  /// All rows of a result.
  func rows(_ result: PostgreSQLResult) throws -> [Row] {
    try (0..<result.rowCount).map { try row(PostgreSQLResultRow(result: result, index: $0)) }
  }

  /// Decodes the row of some fields.
  ///
  /// - Throws: ``ErrorCode/storeCorrupt`` when a column's value is not of the property's type.
  func row(_ fields: some PostgreSQLRow) throws -> Row {
    let decoder = try decoder(of: fields)
    guard let key = fields.int(0), let version = fields.int(1) else { throw layout.wrongKey }
    let id = ManagedObjectID(space: space, key: key)
    return try Row.make(id: id, entity: decoder.entity, version: version) { writer in
      try decoder.columns.withUnsafeBufferPointer { columns in
        for slot in 0..<columns.count {
          guard let bytes = fields.bytes(columns[slot].index), let start = bytes.baseAddress else {
            writer.append(.null)
            continue
          }
          writer.append(try value(start, bytes.count, columns[slot], slot, decoder))
        }
      }
    }
  }

  /// Decodes the values of some slots of a row into uninitialized memory. The slot ``Row/identifierSlot`` stands for
  /// the identifier.
  ///
  /// - Throws: As ``row(_:)``; the memory is uninitialized then.
  func read(_ fields: some PostgreSQLRow, _ slots: [Int], into values: UnsafeMutablePointer<AttributeValue>) throws {
    let decoder = try decoder(of: fields)
    try decoder.columns.withUnsafeBufferPointer { columns in
      for index in slots.indices {
        let slot = slots[index]
        do {
          (values + index).initialize(
            to: slot == Row.identifierSlot ? try identifier(fields) : try value(fields, columns[slot], slot, decoder))
        } catch {
          values.deinitialize(count: index)
          throw error
        }
      }
    }
  }

  private func identifier(_ fields: some PostgreSQLRow) throws -> AttributeValue {
    guard let key = fields.int(0) else { throw layout.wrongKey }
    return .reference(ManagedObjectID(space: space, key: key))
  }

  @inline(__always)
  private func value(
    _ bytes: UnsafeRawPointer, _ count: Int, _ column: Column, _ slot: Int, _ decoder: EntityDecoder
  ) throws -> AttributeValue {
    if column.storage == .reference {
      guard count == 8 else { throw layout.wrongValue(at: column.index, as: column.storage) }
      return .reference(ManagedObjectID(space: decoder.spaces[slot], key: bytes.bigEndian(Int64.self)))
    }
    guard let value = PostgreSQLBinary.value(bytes, count: count, as: column.storage) else {
      throw layout.wrongValue(at: column.index, as: column.storage)
    }
    return value
  }

  // MARK: Comparing

  /// Passes a row to an expectation, and decodes only the values that the expectation compares.
  ///
  /// - Parameters:
  ///   - keySlots: The slots of the expectation's key.
  ///   - key: Room for the values of the key, used again from row to row.
  /// - Throws: As ``row(_:)``, and the errors of the expectation.
  func put(
    _ fields: some PostgreSQLRow, to expectation: any RowExpectation, keySlots: [Int], key: inout [AttributeValue]
  ) throws {
    let decoder = try decoder(of: fields)
    guard let number = fields.int(0) else { throw layout.wrongKey }
    for index in keySlots.indices {
      let slot = keySlots[index]
      key[index] = try value(fields, decoder.columns[slot], slot, decoder)
    }
    switch try expectation.verdict(on: ManagedObjectID(space: space, key: number), key: key) {
    case .skip: return
    case .compare: if try isEqual(fields, to: expectation.expectedValues, decoder) { return }
    case .take: break
    }
    try expectation.take(try row(fields))
  }

  private func value(_ fields: some PostgreSQLRow, _ column: Column, _ slot: Int, _ decoder: EntityDecoder) throws
    -> AttributeValue
  {
    guard let bytes = fields.bytes(column.index), let start = bytes.baseAddress else { return .null }
    return try value(start, bytes.count, column, slot, decoder)
  }

  /// Whether a row has the expected values. Texts and data are compared without being decoded.
  ///
  /// - Parameter expected: The expected values by slot; `nil` to accept any value of a slot.
  private func isEqual(
    _ fields: some PostgreSQLRow, to expected: [AttributeValue?], _ decoder: EntityDecoder
  ) throws -> Bool {
    try decoder.columns.withUnsafeBufferPointer { columns in
      for slot in expected.indices {
        guard let value = expected[slot] else { continue }
        let column = columns[slot]
        let bytes = fields.bytes(column.index)
        let isEqual =
          switch value {
          case .string(var text):
            column.storage == .string && text.withUTF8 { Self.isEqual(bytes, UnsafeRawBufferPointer($0)) }
          case .data(let data): column.storage == .data && data.withUnsafeBytes { Self.isEqual(bytes, $0) }
          default: try self.value(fields, column, slot, decoder) == value
          }
        if !isEqual { return false }
      }
      return true
    }
  }

  private static func isEqual(_ one: UnsafeRawBufferPointer?, _ other: UnsafeRawBufferPointer) -> Bool {
    guard let one, one.count == other.count else { return false }
    guard let start = one.baseAddress, let otherStart = other.baseAddress else { return true }
    return memcmp(start, otherStart, one.count) == 0
  }

  /// The decoder of the entity that the third column names, if the statement has that column.
  private func decoder(of fields: some PostgreSQLRow) throws -> EntityDecoder {
    guard layout.hasEntity else {
      guard let only = decoders.first else { throw layout.unknownEntity }
      return only
    }
    guard let name = fields.bytes(2),
      let decoder = decoders.first(where: { $0.name.count == name.count && name.elementsEqual($0.name) })
    else { throw layout.unknownEntity }
    return decoder
  }
}
