import CLibPQ
import CoherenceCore
import CoherenceSQL
import Foundation
import Logging

/// A connection to the server. Used by one thread at a time.
///
/// The connection is in pipeline mode except during a COPY: `send` queues statements, `synchronize` sends them, and
/// `receive` returns their responses one by one. After a failed statement the server skips the later ones; `receive`
/// throws the failure, and `discardResponses` makes the connection ready again.
final class PostgreSQLConnection {
  /// libpq's connection.
  let raw: OpaquePointer
  let options: PostgreSQLOptions
  let logger: Logger
  /// The session's name in the table of commits, never used again.
  let session = UUID()
  /// The number of the session's last transaction that writes.
  var transactionNumber: Int64 = 0
  /// The time when the session last committed its row in the table of commits; `nil` before the first time.
  var lastMark: ContinuousClock.Instant?
  /// The server's process; `nil` until the session is prepared.
  var process: PostgreSQLProcess?
  /// The time at which every exchange ends, even if the server is at work; `nil` to wait for a working server.
  var deadline: ContinuousClock.Instant?
  /// The stage of the growth of the store's tables at which the statements were planned.
  var plannedStage = 0
  /// The end of the connection's lifetime; `nil` for none.
  private let expiry: ContinuousClock.Instant?
  private let fields = PostgreSQLFields()
  /// The bytes of the values that were queued since the queue was sent.
  private var queuedBytes = 0
  private var prepared = PreparedStatements()
  /// The responses of the current exchange in order, received ones included. Empty once all are received and discarded.
  private var queue: [PendingResponse] = []
  /// The number of responses in the queue that were received, or are being received.
  private var responseCount = 0
  /// The progress of a running COPY; `nil` without one.
  var copyOut: CopyOut?
  /// The time of a pending cancellation; `nil` for none.
  var cancellation: ContinuousClock.Instant?
  var isCancelling: Bool { cancellation != nil }
  /// The time since which the server has sent and accepted nothing, during a wait; `nil` otherwise.
  var silenceStart: ContinuousClock.Instant?
  /// Whether the connection cannot be used any more, although libpq may count it as open: the client closed the socket
  /// of a server that did not respond, or the server ended the connection with a failure.
  var isClosed = false
  /// Whether the connection probes another connection. Such a connection is not probed itself.
  var isProbe = false
  /// Whether a cancelled task interrupts the running statement.
  var isInterruptible = true
  /// Whether another connection may succeed where this connection fails: its server is a standby, or its prepared
  /// statements are of an earlier form of a table, or gone.
  var isOutdated = false

  /// A response that the server sends in the exchange.
  private enum PendingResponse {
    /// A statement whose response is received before the response of the next statement: a preparation, with its text;
    /// a deallocation; or the end of a reading transaction.
    case preliminary(PostgreSQLText?)
    case execution
    case synchronization
  }

  /// The next part of a COPY to receive. The header is a part of the first row's message.
  enum CopyOut { case header, rows }

  init(_ raw: OpaquePointer, options: PostgreSQLOptions, logger: Logger) {
    self.raw = raw
    self.options = options
    self.logger = logger
    expiry = options.connectionLifetime.map { ContinuousClock.now + .seconds($0 * Double.random(in: 0.9...1)) }
    // libpq would print the server's notices, which may contain values.
    PQsetNoticeProcessor(raw, { _, _ in }, nil)
  }

  deinit { PQfinish(raw) }

  var isBroken: Bool { isClosed || PQstatus(raw) != CONNECTION_OK }
  /// Whether the responses to all statements were received.
  var hasAllResponses: Bool { responseCount == queue.count && copyOut == nil }
  /// Whether the end of a transaction was sent without a wait for its response.
  private var isEnding = false

  /// Whether the connection has reached the end of its lifetime.
  var isExpired: Bool { expiry.map { $0 <= .now } ?? false }

  /// Whether the connection can go back to the pool.
  var isReusable: Bool {
    !isBroken && !isOutdated && !isExpired
      && (isEnding || (hasAllResponses && PQtransactionStatus(raw) == PQTRANS_IDLE))
  }

  /// Makes an idle connection ready for use.
  ///
  /// - Returns: Whether the connection is ready. `false` if the server closed it, or does not respond to the end of the
  ///   last transaction.
  func makeReady() -> Bool {
    if isEnding {
      isEnding = false
      guard (try? within(.seconds(2), { try discardResponses() })) != nil else { return false }
    }
    // Checked after that response too: the server may have closed the connection at any time since.
    return isOpenAndQuiet && PQtransactionStatus(raw) == PQTRANS_IDLE
  }

  /// Whether the server has sent a message since the last use of the connection. Such a message mostly is the server's
  /// last, some milliseconds before it closes the connection.
  private var hasUnexpectedMessage: Bool { isReadable(within: 0) }

  /// Whether the connection is open and has no unread message.
  var isOpenAndQuiet: Bool { hasAllResponses && !isBroken && !hasUnexpectedMessage }

  /// Whether a transaction is open, as the last response says.
  var isInTransaction: Bool { PQtransactionStatus(raw) != PQTRANS_IDLE }

  /// Queues the end of a transaction that changed nothing. Its response is received before the response to the next
  /// statement.
  func sendEnd() throws {
    try send(.rollback)
    queue[queue.count - 1] = .preliminary(nil)
  }

  /// Sends the end of a transaction that changed nothing. The next user of the connection receives the response.
  func endTransactionLater() {
    guard !isBroken, PQtransactionStatus(raw) != PQTRANS_IDLE || !hasAllResponses else { return }
    let hasRows = !hasAllResponses
    do {
      if copyOut != nil { try discardResponses() }
      if !isSynchronized { try synchronize() }
      // While the server's send buffer is full, the server reacts to nothing and keeps the transaction open.
      if hasRows { try within(.seconds(2)) { try discardResponses() } }
      try send(.rollback)
      try synchronize()
      isEnding = true
    } catch {
      // The pool closes a connection in the middle of an exchange.
      isEnding = false
    }
  }

  /// The host of the connection, one of the hosts in the connection string.
  var host: PostgreSQLHost { PostgreSQLHost(raw) }

  /// Discards a requested cancellation after the end of its statement.
  func endCancellation() { cancellation = nil }

  /// Enters libpq's pipeline mode, in which statements are sent without a wait for each response.
  func enterPipeline() {
    PQsetnonblocking(raw, 1)
    PQenterPipelineMode(raw)
  }

  /// Leaves pipeline mode for a COPY. All responses must have been received.
  func leavePipeline() throws {
    try check(PQexitPipelineMode(raw))
  }

  // MARK: Sending

  /// Queues a statement. The closure `bind` appends the values of its parameters.
  func send(_ text: PostgreSQLText, bind: (PostgreSQLFields) throws -> Void = { _ in }) throws {
    fields.removeAll()
    try bind(fields)
    let limit = PostgreSQLDialect.maximumParameters
    guard fields.count <= limit else {
      throw CoherenceError(
        .limitExceeded,
        "A statement has \(fields.count) values, and PostgreSQL takes \(limit); ask for less at once.")
    }
    try PostgreSQLMessage.check(fields.byteCount)
    guard text.isPrepared else {
      try fields.withArrays { count, values, lengths, formats in
        try check(PQsendQueryParams(raw, text.text, count, text.types, values, lengths, formats, 1))
      }
      return try didQueueStatement()
    }
    let name = try preparedName(of: text)
    try fields.withArrays { count, values, lengths, formats in
      try check(PQsendQueryPrepared(raw, name, count, values, lengths, formats, 1))
    }
    try didQueueStatement()
  }

  /// Adds the response of a queued statement to the awaited responses, and sends the queue if it is long. libpq keeps the
  /// memory of the longest queue until the connection is closed.
  private func didQueueStatement() throws {
    queue.append(.execution)
    queuedBytes += fields.byteCount
    if queuedBytes >= Self.greatestQueue { try flush() }
  }

  /// The bytes of values in the queue from which it is sent before its last statement.
  private static let greatestQueue = 1 << 20

  /// The name of the prepared statement for a text. Queues the preparation of a new text, and before it the removal of
  /// the least recently used statement if the connection has too many.
  private func preparedName(of text: PostgreSQLText) throws -> String {
    if let name = prepared.name(of: text) { return name }
    if let old = prepared.removeLeastUsed(for: text) {
      try check(PQsendQueryParams(raw, "DEALLOCATE \"\(old)\"", 0, nil, nil, nil, nil, 1))
      queue.append(.preliminary(nil))
    }
    let name = prepared.add(text)
    try check(PQsendPrepare(raw, name, text.text, Int32(text.types.count), text.types))
    queue.append(.preliminary(text))
    return name
  }

  private func check(_ success: Int32) throws {
    if success != 1 { throw connectionLost() }
  }

  /// Whether all queued statements were sent.
  var isSynchronized: Bool {
    if case .synchronization? = queue.last { return true }
    return queue.isEmpty
  }

  /// Sends the queued statements, and asks the server for all responses.
  func synchronize() throws {
    try check(PQpipelineSync(raw))
    queue.append(.synchronization)
    try flush()
  }

  /// Writes the queue. Reads the server's responses at the same time, so that the server never waits for this side.
  func flush() throws {
    while true {
      switch PQflush(raw) {
      case 0:
        queuedBytes = 0
        return
      case 1: try awaitExchange(Int16(POLLIN | POLLOUT))
      default: throw connectionLost()
      }
    }
  }

  // MARK: Receiving

  /// The result of the next statement.
  ///
  /// - Throws: The failure of the statement, or of an earlier one that made the server skip this one.
  func receive() throws -> PostgreSQLResult {
    try receivePreliminaries()
    responseCount += 1
    defer { finishStatement() }
    return try nextResult()
  }

  /// Makes the next statement return its rows one by one, by ``receiveRow()``.
  func beginRows() throws {
    try receivePreliminaries()
    try check(PQsetSingleRowMode(raw))
  }

  /// The next row of the statement; `nil` at its end, when all responses are received.
  func receiveRow() throws -> PostgreSQLResult? {
    do {
      let result = try nextResult()
      if result.isRow { return result }
    } catch {
      responseCount += 1
      finishStatement()
      throw error
    }
    responseCount += 1
    finishStatement()
    try discardResponses()
    return nil
  }

  /// Receives and discards the remaining responses, errors included.
  func discardResponses() throws {
    if copyOut != nil { try discardCopiedRows() }
    while responseCount < queue.count {
      let awaited = queue[responseCount]
      responseCount += 1
      while let result = try rawResult() {
        let status = PQresultStatus(result)
        PQclear(result)
        if status == PGRES_PIPELINE_SYNC { break }
        if case .preliminary(let text?) = awaited, status != PGRES_COMMAND_OK { prepared.remove(text) }
      }
    }
    queue.removeAll(keepingCapacity: true)
    responseCount = 0
    cancellation = nil
  }

  /// Receives the responses before the next statement's own, such as that of its preparation.
  private func receivePreliminaries() throws {
    while responseCount < queue.count, case .preliminary(let text) = queue[responseCount] {
      responseCount += 1
      defer { finishStatement() }
      do {
        _ = try nextResult()
      } catch {
        if let text { prepared.remove(text) }
        throw error
      }
    }
  }

  /// Receives the end of a statement's response. On a broken connection the next call reports the failure.
  private func finishStatement() {
    while let result = try? rawResult() { PQclear(result) }
  }

  /// Waits for the next result of a statement that must have one.
  ///
  /// - Throws: The failure of the statement.
  private func nextResult() throws -> PostgreSQLResult {
    guard let result = try rawResult() else { throw connectionLost() }
    switch PQresultStatus(result) {
    case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_SINGLE_TUPLE:
      return PostgreSQLResult(result)
    default:
      defer { PQclear(result) }
      throw error(for: result)
    }
  }

  /// The error for a failed result. A failure with which the server ended the connection closes the connection.
  func error(for result: OpaquePointer) -> CoherenceError {
    let failure = PostgreSQLFailure(result, isFatal: isBroken)
    if failure.sqlState.isEmpty || failure.isDisconnection {
      // The server sends nothing more, so that the pending responses never come.
      if failure.isFatal { isClosed = true }
      return .connectionLost(failure)
    }
    if failure.hasOutdatedPlan || failure.isOfOtherSession || (failure.forbidsWriting && !options.isReadOnly) {
      isOutdated = true
    }
    if failure.sqlState == "57014", isCancelling {
      return CoherenceError(.cancelled, "The task was cancelled while the PostgreSQL server was at work.")
    }
    return CoherenceError(failure)
  }

  /// Waits for libpq's next result; returns `nil` between two statements.
  func rawResult() throws -> OpaquePointer? {
    while PQisBusy(raw) == 1 { try awaitInput() }
    return PQgetResult(raw)
  }

  /// Waits a while for input from the server. A cancelled task cancels the running statement.
  func awaitInput() throws { try awaitExchange(Int16(POLLIN)) }

  /// Waits a while until the socket can be read or written. A cancelled task cancels the running statement: a server
  /// that waits for a lock does not read the statements after it.
  private func awaitExchange(_ events: Int16) throws {
    let events = try awaitEvents(events)
    if events == 0, isInterruptible, !isCancelling, Task.isCancelled { try cancel() }
  }

  /// Waits a while until the socket can be read or written, and reads the available input.
  ///
  /// - Throws: ``ErrorCode/connectionLost`` when the connection broke or the server does not respond any more,
  ///   ``ErrorCode/cancelled`` when a cancelled statement does not end.
  private func awaitEvents(_ events: Int16) throws -> Int16 {
    let events = wait(for: events, milliseconds: 100)
    if events & ~Int16(POLLOUT) != 0, PQconsumeInput(raw) == 0 { throw connectionLost() }
    if events == 0 { try checkSilence() } else { silenceStart = nil }
    return events
  }

  // MARK: Waiting

  /// Whether the socket has input, or has failed, within a time.
  func isReadable(within milliseconds: Int32) -> Bool {
    wait(for: Int16(POLLIN), milliseconds: milliseconds) != 0
  }

  /// Waits until the socket is ready for one of the events, or until the time has passed; zero polls without a wait.
  ///
  /// - Returns: The events that have happened; 0 for none.
  private func wait(for events: Int16, milliseconds: Int32) -> Int16 {
    var descriptor = pollfd(fd: PQsocket(raw), events: events, revents: 0)
    let count =
      milliseconds == 0
      ? poll(&descriptor, 1, 0) : ContextThreads.waiting { poll(&descriptor, 1, milliseconds) }
    return count > 0 ? descriptor.revents : 0
  }

  private func connectionLost() -> CoherenceError { .connectionLost() }
}
