import CoherenceCore
import CoherenceSQL
import Foundation
import GRDBSQLite

/// Decodes the current row of a statement into a row of a hierarchy. The decoding of each column is chosen once.
final class SQLiteRowDecoder: Sendable {
  private let layout: RowLayout
  /// An identifier in the space of the rows.
  private let anyID: ManagedObjectID
  private let decoders: [EntityDecoder]
  /// The decoder of every row of a hierarchy with one entity; `nil` for several entities.
  private let onlyDecoder: EntityDecoder?

  /// The decoder of one entity's rows. A class, so that the choice of a decoder for a row copies nothing.
  private final class EntityDecoder: Sendable {
    let entity: EntityDescription
    let name: [UInt8]
    let columns: [Column]

    init(_ entity: EntityDescription, recordName: String, positions: [Int], spaces: [IDSpace]) {
      self.entity = entity
      name = Array(recordName.utf8)
      columns = entity.slots.indices.map { slot in
        Column(
          storage: entity.slots[slot].storage, index: CInt(positions[slot]),
          anyID: ManagedObjectID(space: spaces[slot], key: 0))
      }
    }

    /// Calls a block with the columns, so that many rows are decoded without counting references to the decoder.
    @inline(__always) func withColumns<T>(_ body: (UnsafeBufferPointer<Column>) throws -> T) rethrows -> T {
      try columns.withUnsafeBufferPointer(body)
    }
  }

  private struct Column: Sendable {
    let storage: StorageType
    let index: CInt
    /// An identifier in the space of the keys in the column; in the row's own space for a column without keys.
    let anyID: ManagedObjectID
  }

  init(_ layout: RowLayout, spaces: IDSpaces) {
    self.layout = layout
    anyID = ManagedObjectID(space: spaces[layout.table.root], key: 0)
    decoders = zip(layout.entities, layout.positions).map {
      EntityDecoder(
        $0, recordName: layout.table.recordName(of: $0), positions: $1, spaces: layout.spaces(of: $0, in: spaces))
    }
    onlyDecoder = layout.hasEntity ? nil : decoders.first
  }

  /// Decodes the current row of a statement.
  ///
  /// - Throws: ``ErrorCode/storeCorrupt`` when a column's value is not of the property's type.
  func row(_ statement: OpaquePointer) throws -> Row {
    let decoder = try decoder(of: statement)
    return try decoder.withColumns { try row(statement, of: decoder.entity, $0) }
  }

  /// Decodes the row that a block passes on with each call of its argument, and appends the rows.
  ///
  /// - Throws: As ``row(_:)``, and the errors of the block.
  func appendRows(
    to rows: inout [Row], _ forEachStep: ((OpaquePointer) throws -> Void) throws -> Void
  ) throws {
    guard let onlyDecoder else { return try forEachStep { rows.append(try row($0)) } }
    let entity = onlyDecoder.entity
    try onlyDecoder.withColumns { columns in
      try forEachStep { rows.append(try row($0, of: entity, columns)) }
    }
  }

  @inline(__always)
  private func row(
    _ statement: OpaquePointer, of entity: EntityDescription, _ columns: UnsafeBufferPointer<Column>
  ) throws -> Row {
    let id = ManagedObjectID(inSpaceOf: anyID, key: sqlite3_column_int64(statement, 0))
    return try Row.make(id: id, entity: entity, version: sqlite3_column_int64(statement, 1)) { writer in
      for column in columns { writer.append(try value(statement, column)) }
    }
  }

  /// Decodes the values of some slots of the current row, or its identifier, into uninitialized memory.
  ///
  /// - Throws: As ``row(_:)``; the memory is uninitialized then.
  @inline(__always)
  func read(_ statement: OpaquePointer, _ slots: [Int], into values: UnsafeMutablePointer<AttributeValue>) throws {
    let decoder = try decoder(of: statement)
    try decoder.withColumns { columns in
      for index in slots.indices {
        let slot = slots[index]
        guard slot != Row.identifierSlot else {
          let id = ManagedObjectID(inSpaceOf: anyID, key: sqlite3_column_int64(statement, 0))
          (values + index).initialize(to: .reference(id))
          continue
        }
        do {
          (values + index).initialize(to: try value(statement, columns[slot]))
        } catch {
          values.deinitialize(count: index)
          throw error
        }
      }
    }
  }

  /// The decoder of the current row's entity.
  @inline(__always) private func decoder(of statement: OpaquePointer) throws -> EntityDecoder {
    if let onlyDecoder { return onlyDecoder }
    return try namedDecoder(statement)
  }

  /// The decoder of the entity that the current row names, as each row of a hierarchy with several entities does.
  private func namedDecoder(_ statement: OpaquePointer) throws -> EntityDecoder {
    guard layout.hasEntity, let start = sqlite3_column_text(statement, 2) else { throw layout.unknownEntity }
    let name = UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, 2)))
    guard let decoder = decoders.first(where: { $0.name.count == name.count && name.elementsEqual($0.name) }) else {
      throw layout.unknownEntity
    }
    return decoder
  }

  @inline(__always)
  private func value(_ statement: OpaquePointer, _ column: Column) throws -> AttributeValue {
    // Asking the cell costs less than asking the statement for each thing again. It is sound because a connection is
    // used by one thread at a time.
    guard let cell = sqlite3_column_value(statement, column.index) else { return .null }
    if case .reference = column.storage, sqlite3_value_type(cell) == SQLITE_INTEGER {
      return .reference(ManagedObjectID(inSpaceOf: column.anyID, key: sqlite3_value_int64(cell)))
    }
    guard let value = Self.value(of: cell, as: column.storage) else {
      throw layout.wrongValue(at: Int(column.index), as: column.storage)
    }
    return value
  }

  /// The value of a cell that holds no reference; `nil` when it is not of the representation.
  @inline(__always) static func value(of cell: OpaquePointer, as storage: StorageType) -> AttributeValue? {
    let type = sqlite3_value_type(cell)
    if type == SQLITE_NULL { return .null }
    switch storage {
    case .int64, .int32, .int16:
      if type == SQLITE_INTEGER { return .int(sqlite3_value_int64(cell)) }
    case .double, .float:
      if type == SQLITE_FLOAT { return .double(sqlite3_value_double(cell)) }
      // Another program may have written the number as an integer.
      if type == SQLITE_INTEGER, let exact = Double(exactly: sqlite3_value_int64(cell)) { return .double(exact) }
    case .string:
      if type == SQLITE_TEXT, let text = Self.text(cell) { return .string(text) }
    case .date:
      if type == SQLITE_INTEGER { return .date(Timestamp(microseconds: sqlite3_value_int64(cell))) }
    case .bool:
      let number = sqlite3_value_int64(cell)
      if type == SQLITE_INTEGER, number == 0 || number == 1 { return .bool(number == 1) }
    case .reference: break
    case .uuid:
      if type == SQLITE_BLOB, let uuid = Self.uuid(cell) { return .uuid(uuid) }
    case .data:
      if type == SQLITE_BLOB { return .data(Self.data(cell)) }
    case .decimal:
      if type == SQLITE_TEXT, let number = Self.decimal(cell) { return .decimal(number) }
    }
    return nil
  }

  // MARK: Comparing

  /// Passes the current row to an expectation, and decodes only the values that the expectation compares.
  ///
  /// - Parameter key: Room for the values of the key, used again from row to row.
  /// - Throws: As ``row(_:)``, and the errors of the expectation.
  @inline(__always)
  func put(
    _ statement: OpaquePointer, to expectation: any RowExpectation, keySlots: [Int], key: inout [AttributeValue]
  ) throws {
    let decoder = try decoder(of: statement)
    for index in keySlots.indices {
      key[index] = try value(statement, decoder.columns[keySlots[index]])
    }
    let id = ManagedObjectID(inSpaceOf: anyID, key: sqlite3_column_int64(statement, 0))
    switch try expectation.verdict(on: id, key: key) {
    case .skip: return
    case .compare: if try isEqual(statement, to: expectation.expectedValues, decoder) { return }
    case .take: break
    }
    try expectation.take(try row(statement))
  }

  /// Whether the current row has the expected values. Texts and data are compared in SQLite's memory, without a copy.
  private func isEqual(
    _ statement: OpaquePointer, to expected: [AttributeValue?], _ decoder: EntityDecoder
  ) throws -> Bool {
    try decoder.withColumns { columns in
      for slot in expected.indices {
        guard let value = expected[slot] else { continue }
        let column = columns[slot]
        switch value {
        case .string(var text):
          guard column.storage == .string, Self.isText(statement, column.index, &text) else { return false }
        case .data(let data):
          guard column.storage == .data, Self.isData(statement, column.index, data) else { return false }
        default:
          guard try self.value(statement, column) == value else { return false }
        }
      }
      return true
    }
  }

  private static func isText(_ statement: OpaquePointer, _ index: CInt, _ text: inout String) -> Bool {
    guard sqlite3_column_type(statement, index) == SQLITE_TEXT, let start = sqlite3_column_text(statement, index) else {
      return false
    }
    let count = Int(sqlite3_column_bytes(statement, index))
    return text.withUTF8 { $0.count == count && (count == 0 || memcmp($0.baseAddress!, start, count) == 0) }
  }

  private static func isData(_ statement: OpaquePointer, _ index: CInt, _ data: Data) -> Bool {
    guard sqlite3_column_type(statement, index) == SQLITE_BLOB else { return false }
    let count = Int(sqlite3_column_bytes(statement, index))
    guard data.count == count, count > 0, let start = sqlite3_column_blob(statement, index) else {
      return data.count == count
    }
    return data.withUnsafeBytes { memcmp($0.baseAddress!, start, count) == 0 }
  }

  // MARK: Values

  /// The text of a cell; `nil` when it is not valid.
  @inline(__always) private static func text(_ cell: OpaquePointer) -> String? {
    guard let start = sqlite3_value_text(cell) else { return nil }
    // SQLite ends texts with a zero. A text with a zero inside, which no store writes, would be read as a shorter text.
    let characters = UnsafeRawPointer(start).assumingMemoryBound(to: CChar.self)
    guard let text = String(validatingCString: characters) else { return nil }
    return text.utf8.count == Int(sqlite3_value_bytes(cell)) ? text : nil
  }

  private static func data(_ cell: OpaquePointer) -> Data {
    guard let start = sqlite3_value_blob(cell) else { return Data() }
    return Data(bytes: start, count: Int(sqlite3_value_bytes(cell)))
  }

  private static func uuid(_ cell: OpaquePointer) -> UUID? {
    guard sqlite3_value_bytes(cell) == 16, let start = sqlite3_value_blob(cell) else { return nil }
    return UUID(uuid: start.loadUnaligned(as: uuid_t.self))
  }

  /// A number in plain notation; `nil` for any other text. Foundation would read a number from the beginning of a text.
  private static func decimal(_ cell: OpaquePointer) -> Decimal? {
    guard let text = text(cell) else { return nil }
    let digits = text.utf8.drop { $0 == UInt8(ascii: "-") }
    let isPlain = digits.allSatisfy { (0x30...0x39).contains($0) || $0 == UInt8(ascii: ".") }
    guard isPlain, text.utf8.count - digits.count <= 1 else { return nil }
    return Decimal(string: text, locale: Locale(identifier: "en_US_POSIX"))
  }
}
