import CoherenceCore
import CoherenceSQL

/// The cursor of a fetch, which reads rows in batches.
final class SQLiteCursor: RowCursor {
  // Weak, because the reader retains the cursors of its unfinished fetches and stops them at its end.
  private weak let reader: SQLiteReader?
  private let decoder: SQLiteRowDecoder
  private var statement: SQLiteStatement?
  private var first: [Row] = []
  private var batchSize = 64
  private static let maximumBatchSize = 1024

  init(_ reader: SQLiteReader, _ decoder: SQLiteRowDecoder) {
    self.reader = reader
    self.decoder = decoder
  }

  var isAtEnd: Bool { statement == nil }

  func start(_ text: SQLStatement, _ session: SQLiteSession) throws {
    let statement = try session.take(text.text)
    self.statement = statement
    try statement.bind(text.bindings)
    try session.logged(text.text) { try step(into: &first, session) }
  }

  func next(into rows: inout [Row]) throws -> Bool {
    if !first.isEmpty {
      rows += takeFirst()
      return true
    }
    let count = rows.count
    try pull { try step(into: &rows, $0) }
    return rows.count > count
  }

  /// Reads further rows, unless the fetch has ended.
  private func pull(_ body: (SQLiteSession) throws -> Void) throws {
    guard statement != nil else { return }
    guard let reader else { throw CoherenceError.readerFinished }
    try reader.read(body)
    if isAtEnd { reader.didEnd(self) }
  }

  private func takeFirst() -> [Row] {
    defer { first = [] }
    return first
  }

  private func step(into rows: inout [Row], _ session: SQLiteSession) throws {
    rows.reserveCapacity(rows.count + batchSize)
    try forEachStep(session) { rows.append(try decoder.row($0)) }
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
    first = []
    guard statement != nil else { return }
    try? reader?.read { stop($0) }
    reader?.didEnd(self)
  }

  func stop(_ session: SQLiteSession) {
    if let statement { session.give(back: statement) }
    statement = nil
  }
}

extension SQLiteCursor: ValueCursor {
  func next(into sink: any ValueSink) throws -> Bool {
    let known = sink.count
    if first.isEmpty {
      try pull { try step(into: sink, $0) }
    } else {
      for row in takeFirst() { try sink.put(row) }
    }
    return sink.count > known
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
