import CBench

/// The two ways of inserting many binary rows in one transaction.
extension RawPostgreSQL {
  func insertByCopy(_ people: [Person], into table: String = "person") throws {
    let started = PQexec(handle, "COPY \(table) (\(Self.columns)) FROM STDIN (FORMAT binary)")
    defer { PQclear(started) }
    try check(started)
    var encoder = PersonEncoder()
    encoder.beginCopy()
    for person in people {
      encoder.appendTuple(person)
      if encoder.bytes.count >= 1 << 16 { try putCopyData(&encoder) }
    }
    encoder.endCopy()
    try putCopyData(&encoder)
    try require(PQputCopyEnd(handle, nil))
    try collect(until: nil)
  }

  private func putCopyData(_ encoder: inout PersonEncoder) throws {
    let outcome = encoder.bytes.withUnsafeBytes {
      // Safety of `assumingMemoryBound`: the encoder has bytes alone.
      PQputCopyData(handle, $0.baseAddress?.assumingMemoryBound(to: CChar.self), Int32($0.count))
    }
    try require(outcome)
    encoder.clear()
  }

  func insertPipelined(_ people: [Person]) throws {
    try prepare("insert", Self.insertion)
    try require(PQenterPipelineMode(handle))
    try send("BEGIN")
    var encoder = PersonEncoder()
    var unread = 1
    for person in people {
      encoder.clear()
      encoder.appendParameters(person)
      try sendInsert(encoder)
      unread += 1
      guard unread == 1000 else { continue }
      // Reads the replies so far. Otherwise both ends would wait with full buffers.
      try require(PQsendFlushRequest(handle))
      try collect(count: unread)
      unread = 0
    }
    try send("COMMIT")
    try require(PQpipelineSync(handle))
    try collect(count: unread + 1)
    try collect(until: PGRES_PIPELINE_SYNC)
    try require(PQexitPipelineMode(handle))
    try execute("DEALLOCATE insert")
  }

  private static let insertion =
    "INSERT INTO person (\(columns)) VALUES (\((1...11).map { "$\($0)" }.joined(separator: ", ")))"

  private func send(_ sql: String) throws {
    try require(PQsendQueryParams(handle, sql, 0, nil, nil, nil, nil, 1))
  }

  private func sendInsert(_ encoder: PersonEncoder) throws {
    let outcome = encoder.bytes.withUnsafeBytes { bytes in
      withUnsafeTemporaryAllocation(of: UnsafePointer<CChar>?.self, capacity: 11) { values in
        withUnsafeTemporaryAllocation(of: Int32.self, capacity: 11) { lengths in
          for (index, field) in encoder.fields.enumerated() {
            // Safety of `assumingMemoryBound`: the encoder has bytes alone.
            let start = bytes.baseAddress.map { ($0 + field.start).assumingMemoryBound(to: CChar.self) }
            values[index] = field.count < 0 ? nil : start
            lengths[index] = Int32(max(field.count, 0))
          }
          return PQsendQueryPrepared(
            handle, "insert", 11, values.baseAddress, lengths.baseAddress, Self.binaryFormats, 1)
        }
      }
    }
    try require(outcome)
  }

  private static let binaryFormats = [Int32](repeating: 1, count: 11)

  /// Reads the results of a number of statements of a pipeline.
  private func collect(count: Int) throws {
    for _ in 0..<count { try collect(until: nil) }
  }

  /// Reads results up to the end of a statement, or up to a result with the given status.
  private func collect(until last: ExecStatusType?) throws {
    while let result = PQgetResult(handle) {
      defer { PQclear(result) }
      try check(result)
      if PQresultStatus(result) == last { return }
    }
  }
}
