import CoherenceCore
import CoherenceSQL

/// The cursor of a fetch, which reads rows in batches.
final class SQLiteCursor: RowCursor {
  // Weak, because the reader retains the cursors of its unfinished fetches and stops them at its end.
  private weak let reader: SQLiteReader?
  private let decoder: SQLiteRowDecoder
  private var statement: SQLiteStatement?
  /// The rows that `start` has read; empty after the first batch was passed on.
  private var firstRows: [Row] = []
  /// The number of rows of the next batch. Small at first, for callers that need the first rows only.
  private var batchSize = 64
  private static let maximumBatchSize = 1024

  init(_ reader: SQLiteReader, _ decoder: SQLiteRowDecoder) {
    self.reader = reader
    self.decoder = decoder
  }

  var isAtEnd: Bool { statement == nil }

  /// Begins the fetch and reads the first batch, with which the reader's transaction begins to see one state.
  func start(_ text: SQLStatement, _ session: SQLiteSession) throws {
    let statement = try session.take(text.text)
    self.statement = statement
    try statement.bind(text.bindings)
    try session.logged(text.text) { try step(into: &firstRows, session) }
  }

  func next(into rows: inout [Row]) throws -> Bool {
    if !firstRows.isEmpty {
      rows += takeFirstRows()
      return true
    }
    let count = rows.count
    try readFurther { try step(into: &rows, $0) }
    return rows.count > count
  }

  /// Runs a block in the reader's transaction, unless the fetch has ended.
  private func readFurther(_ body: (SQLiteSession) throws -> Void) throws {
    guard statement != nil else { return }
    guard let reader else { throw CoherenceError.readerFinished }
    try reader.read(body)
    if isAtEnd { reader.didEnd(self) }
  }

  private func takeFirstRows() -> [Row] {
    defer { firstRows = [] }
    return firstRows
  }

  private func step(into rows: inout [Row], _ session: SQLiteSession) throws {
    rows.reserveCapacity(rows.count + batchSize)
    try decoder.appendRows(to: &rows) { body in try forEachStep(session, body) }
  }

  /// Calls a block for each row of a batch. Returns the statement to the session at the end and after a failure.
  private func forEachStep(_ session: SQLiteSession, _ body: (OpaquePointer) throws -> Void) throws {
    guard let statement else { return }
    do {
      for _ in 0..<batchSize {
        guard try statement.step() else {
          stop(session)
          return
        }
        try body(statement.handle)
      }
    } catch {
      stop(session)
      throw error
    }
    batchSize = min(batchSize * 4, Self.maximumBatchSize)
  }

  func close() {
    firstRows = []
    guard statement != nil else { return }
    reader?.stop(self)
  }

  func stop(_ session: SQLiteSession) {
    if let statement { session.give(back: statement) }
    statement = nil
  }
}

extension SQLiteCursor: ValueCursor {
  func next(into sink: any ValueSink) throws -> Bool {
    let count = sink.count
    if firstRows.isEmpty {
      try readFurther { try step(into: sink, $0) }
    } else {
      for row in takeFirstRows() { try sink.put(row) }
    }
    return sink.count > count
  }

  private func step(into sink: any ValueSink, _ session: SQLiteSession) throws {
    let slots = sink.slots
    try withUnsafeTemporaryAllocation(of: AttributeValue.self, capacity: max(slots.count, 1)) { room in
      guard let values = room.baseAddress else { return }
      try forEachStep(session) { statement in
        try decoder.read(statement, slots, into: values)
        try sink.take(values)
      }
    }
  }
}
