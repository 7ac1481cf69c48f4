import CoherenceCore

/// The cursor of a fetch, which receives rows from the server.
final class PostgreSQLCursor: RowCursor {
  private let reader: PostgreSQLReader
  private let decoder: PostgreSQLRowDecoder
  private let text: String
  /// Whether the statement runs after a savepoint, so that the fetch can end early and later reads see the same state.
  private let isStoppable: Bool
  /// The row that a COPY fills again and again; `nil` without a COPY.
  private let copiedRow: PostgreSQLCopiedRow?
  /// The rows received before the caller has asked for them.
  private var bufferedRows: [Row] = []
  private(set) var isAtEnd = false
  /// The error that ended the fetch before its last row.
  private var failure: (any Error)?
  private static let batchSize = 1024

  init(
    _ reader: PostgreSQLReader, _ decoder: PostgreSQLRowDecoder, _ text: String, isStoppable: Bool, isCopied: Bool
  ) {
    self.reader = reader
    copiedRow = isCopied ? PostgreSQLCopiedRow() : nil
    self.decoder = decoder
    self.text = text
    self.isStoppable = isStoppable
  }

  /// Receives the first row, or the failure of the statement.
  func start(_ connection: PostgreSQLConnection) throws {
    try connection.timed([text]) { try receive(1, into: &bufferedRows, connection) }
  }

  /// Ends the fetch with an error of the reader.
  func fail(_ error: any Error) {
    failure = error
    bufferedRows = []
  }

  /// Receives all remaining rows.
  func receiveRest(_ connection: PostgreSQLConnection) throws {
    try receive(.max, into: &bufferedRows, connection)
  }

  /// Receives the next rows, at most as many as a count.
  private func receive(_ count: Int, into rows: inout [Row], _ connection: PostgreSQLConnection) throws {
    var remaining = count
    while remaining > 0, !isAtEnd {
      guard let row = try receiveRow(connection) else {
        isAtEnd = true
        return
      }
      rows.append(row)
      remaining -= 1
    }
  }

  /// Reads the values of the next row. Returns `false` at the end.
  private func receive(
    _ slots: [Int], into values: UnsafeMutablePointer<AttributeValue>, _ connection: PostgreSQLConnection
  ) throws -> Bool {
    if let copiedRow {
      isAtEnd = try !connection.receiveCopiedRow(into: copiedRow)
      if !isAtEnd { try decoder.read(copiedRow, slots, into: values) }
    } else if let result = try connection.receiveRow() {
      try decoder.read(PostgreSQLResultRow(result: result, index: 0), slots, into: values)
    } else {
      isAtEnd = true
    }
    return !isAtEnd
  }

  private func receiveRow(_ connection: PostgreSQLConnection) throws -> Row? {
    if let copiedRow { return try connection.receiveCopiedRow(into: copiedRow) ? decoder.row(copiedRow) : nil }
    return try connection.receiveRow().map { try decoder.row(PostgreSQLResultRow(result: $0, index: 0)) }
  }

  func next(into rows: inout [Row]) throws -> Bool {
    if let failure { throw failure }
    let count = rows.count
    rows += takeBufferedRows()
    if !isAtEnd { try reader.pull { try receive(Self.batchSize, into: &rows, $0) } }
    return rows.count > count
  }

  /// Returns and removes the rows received before the caller has asked for them.
  private func takeBufferedRows() -> [Row] {
    defer { bufferedRows = [] }
    return bufferedRows
  }

  func close() {
    bufferedRows = []
    if isAtEnd || failure != nil { return }
    isAtEnd = true
    reader.stop(isStoppable: isStoppable)
  }
}

extension PostgreSQLCursor: ValueCursor {
  func next(into sink: any ValueSink) throws -> Bool {
    if let failure { throw failure }
    let startCount = sink.count
    for row in takeBufferedRows() { try sink.put(row) }
    if isAtEnd { return sink.count > startCount }
    // An error of the sink ends the reading, not the transaction.
    if let refusal = try reader.pull({ try read(into: sink, $0) }) { throw refusal }
    return sink.count > startCount
  }

  /// Reads a batch. Returns the sink's error.
  private func read(into sink: any ValueSink, _ connection: PostgreSQLConnection) throws -> (any Error)? {
    let slots = sink.slots
    return try withUnsafeTemporaryAllocation(of: AttributeValue.self, capacity: max(slots.count, 1)) { buffer in
      guard let values = buffer.baseAddress else { return nil }
      for _ in 0..<Self.batchSize {
        guard try receive(slots, into: values, connection) else { break }
        do { try sink.take(values) } catch { return error }
      }
      return nil
    }
  }
}
