/// A receiver of the records that a fetch finds, a batch at a time.
protocol FetchSink {
  /// Whether the fetch replaces rows by equal shared rows of the process. Worth a look-up only if the sink retains
  /// rows.
  var sharesRows: Bool { get }

  /// Receives rows of records without unsaved changes, as the store returned them.
  mutating func receive(_ rows: [Row]) throws

  /// Receives records with their unsaved changes.
  mutating func receive(_ records: ArraySlice<RecordState>) throws

  /// Receives all records of a cursor whose rows need no filter, in place of batches of rows.
  ///
  /// - Returns: `false`, without having read a record, if the sink or the cursor does not support this.
  mutating func receiveAll(from cursor: any RowCursor, in context: ManagedObjectContext) throws -> Bool

  /// Receives all records of a query in its order and range, before a cursor is made.
  ///
  /// - Parameter store: The store of the reader.
  /// - Returns: `false`, having received nothing, when the sink or the reader cannot.
  mutating func receiveAll(
    inOrderOf query: StoreQuery, in store: any PersistentStore, from reader: any StoreReader
  ) throws -> Bool

  /// Receives all records of a query without order and range, in place of batches of rows.
  ///
  /// - Parameter unsaved: The records that replace rows of the store.
  /// - Returns: `false`, without having read a record, if the sink or the reader does not support this.
  mutating func receiveAll(
    of query: StoreQuery, from reader: any StoreReader, except unsaved: UnsavedStates
  ) throws -> Bool
}

extension FetchSink {
  mutating func receiveAll(
    inOrderOf query: StoreQuery, in store: any PersistentStore, from reader: any StoreReader
  ) throws -> Bool { false }

  mutating func receiveAll(from cursor: any RowCursor, in context: ManagedObjectContext) throws -> Bool { false }

  mutating func receiveAll(
    of query: StoreQuery, from reader: any StoreReader, except unsaved: UnsavedStates
  ) throws -> Bool { false }
}

/// Counts records.
struct CountSink: FetchSink {
  private(set) var count = 0
  var sharesRows: Bool { false }

  mutating func receive(_ rows: [Row]) { count += rows.count }
  mutating func receive(_ records: ArraySlice<RecordState>) { count += records.count }
}

/// Collects records, for an order by the context.
struct RecordSink: FetchSink {
  private(set) var records: [RecordState]
  let sharesRows: Bool

  init(_ records: [RecordState] = [], sharesRows: Bool) {
    self.records = records
    self.sharesRows = sharesRows
  }

  mutating func receive(_ rows: [Row]) { for row in rows { records.append(RecordState(row)) } }
  mutating func receive(_ records: ArraySlice<RecordState>) { self.records += records }
}

/// Passes records to a block, a batch at a time.
struct BatchSink: FetchSink {
  private let body: ([RecordState]) throws -> Void
  var sharesRows: Bool { false }

  init(_ body: @escaping ([RecordState]) throws -> Void) { self.body = body }

  func receive(_ rows: [Row]) throws { try body(rows.map { RecordState($0) }) }
  func receive(_ records: ArraySlice<RecordState>) throws { try body(Array(records)) }
}
