import CLibPQ
import CoherenceCore
import CoherenceSQL
import Foundation
import Logging

/// A connection to the server. Used by one thread at a time.
///
/// The connection is always in pipeline mode but for the time of a COPY: statements are queued with `send`, go out with
/// `synchronize`, and are answered one by one by `receive`. A statement that fails makes the server skip those after it;
/// the failure is thrown by `receive`, and `settle` gets the connection ready again.
final class PostgreSQLConnection {
  let raw: OpaquePointer
  let logger: Logger
  private let fields = PostgreSQLFields()
  private var prepared = PreparedStatements()
  /// What the server has not answered yet.
  private var queue: [Awaited] = []
  private var answered = 0
  /// How far the rows of a COPY have come that are on their way; `nil` when there are none.
  var copyOut: CopyOut?
  /// Whether a cancellation was asked for that no statement was reported to have ended by.
  private var isCancelling = false
  /// Whether a cancelled task interrupts what runs.
  private var isInterruptible = true

  private enum Awaited {
    /// Of a statement that the text is kept as, or of something that goes before.
    case preparation(PostgreSQLText?)
    case execution
    case synchronization
  }

  enum CopyOut { case header, rows }

  init(_ raw: OpaquePointer, logger: Logger) {
    self.raw = raw
    self.logger = logger
    // libpq would print what the server remarks, values and all.
    PQsetNoticeProcessor(raw, { _, _ in }, nil)
  }

  deinit { PQfinish(raw) }

  var isBroken: Bool { PQstatus(raw) != CONNECTION_OK }
  /// Whether there is nothing that the server has not answered.
  private var isSettled: Bool { answered == queue.count && copyOut == nil }
  /// Whether the end of a transaction was let go whose answer nobody has waited for.
  private var isEnding = false

  /// Whether the connection can go back to the pool.
  var isReusable: Bool { !isBroken && (isEnding || (isSettled && PQtransactionStatus(raw) == PQTRANS_IDLE)) }

  /// Gets a connection that lay idle ready for something new.
  ///
  /// - Returns: Whether that can be: the server may have closed it.
  func makeReady() -> Bool {
    if isEnding {
      isEnding = false
      guard (try? uninterrupted { try settle() }) != nil else { return false }
    } else if hasGoneStale {
      return false
    }
    return isSettled && !isBroken && PQtransactionStatus(raw) == PQTRANS_IDLE
  }

  /// Whether the server has closed the connection since it was used last.
  private var hasGoneStale: Bool {
    guard isReadable(within: 0) else { return false }
    return PQconsumeInput(raw) == 0 || PQstatus(raw) != CONNECTION_OK || isReadable(within: 0)
  }

  /// Lets go the end of a transaction that changed nothing. Whoever uses the connection next takes in the answer.
  func endTransactionLater() {
    guard !isBroken, PQtransactionStatus(raw) != PQTRANS_IDLE || !isSettled else { return }
    do {
      if copyOut != nil { try settle() }
      if !isSynchronized { try synchronize() }
      try send(PostgreSQLText("ROLLBACK"))
      try synchronize()
      isEnding = true
    } catch {
      // The pool closes what is in the midst of something.
      isEnding = false
    }
  }

  func enterPipeline() {
    PQsetnonblocking(raw, 1)
    PQenterPipelineMode(raw)
  }

  /// Leaves pipeline mode, for a COPY. Everything was answered.
  func leavePipeline() throws {
    guard PQexitPipelineMode(raw) == 1, PQsetnonblocking(raw, 0) == 0 else { throw connectionLost() }
  }

  // MARK: Sending

  /// Queues a statement. What `bind` appends are the values of its parameters.
  func send(_ text: PostgreSQLText, bind: (PostgreSQLFields) throws -> Void = { _ in }) throws {
    fields.removeAll()
    try bind(fields)
    guard text.isKept else {
      try fields.withArrays { count, values, lengths, formats in
        try check(PQsendQueryParams(raw, text.text, count, text.types, values, lengths, formats, 1))
      }
      return queue.append(.execution)
    }
    let name = try preparedName(of: text)
    try fields.withArrays { count, values, lengths, formats in
      try check(PQsendQueryPrepared(raw, name, count, values, lengths, formats, 1))
    }
    queue.append(.execution)
  }

  private func preparedName(of text: PostgreSQLText) throws -> String {
    if let name = prepared.name(of: text) { return name }
    if let old = prepared.removeLeastUsed() {
      try check(PQsendQueryParams(raw, "DEALLOCATE \"\(old)\"", 0, nil, nil, nil, nil, 1))
      queue.append(.preparation(nil))
    }
    let name = prepared.add(text)
    try check(PQsendPrepare(raw, name, text.text, Int32(text.types.count), text.types))
    queue.append(.preparation(text))
    return name
  }

  private func check(_ success: Int32) throws {
    if success != 1 { throw connectionLost() }
  }

  /// Whether all that was queued was let go.
  var isSynchronized: Bool {
    if case .synchronization? = queue.last { return true }
    return queue.isEmpty
  }

  /// Lets go what was queued, and has the server answer all of it.
  func synchronize() throws {
    try check(PQpipelineSync(raw))
    queue.append(.synchronization)
    try flush()
  }

  /// Writes what is queued. What the server answers meanwhile is taken in, so that it never waits for us.
  private func flush() throws {
    while true {
      switch PQflush(raw) {
      case 0: return
      case 1:
        let events = wait(for: Int16(POLLIN | POLLOUT), milliseconds: 1000)
        if events & Int16(POLLIN) != 0, PQconsumeInput(raw) == 0 { throw connectionLost() }
      default: throw connectionLost()
      }
    }
  }

  // MARK: Receiving

  /// The answer to the next statement.
  ///
  /// - Throws: What the statement failed by, or the one before it that made the server skip it.
  func receive() throws -> PostgreSQLResult {
    try receivePreparations()
    answered += 1
    defer { finishStatement() }
    return try nextResult()
  }

  /// Makes the next statement answer row by row. Its rows come by ``receiveRow()``.
  func beginRows() throws {
    try receivePreparations()
    try check(PQsetSingleRowMode(raw))
  }

  /// The next row of the statement; `nil` at its end, when everything was answered.
  func receiveRow() throws -> PostgreSQLResult? {
    do {
      let result = try nextResult()
      if result.isRow { return result }
    } catch {
      answered += 1
      finishStatement()
      throw error
    }
    answered += 1
    finishStatement()
    try settle()
    return nil
  }

  /// Takes what is left of the answers, whatever it is.
  func settle() throws {
    if copyOut != nil { try settleCopiedRows() }
    while answered < queue.count {
      let awaited = queue[answered]
      answered += 1
      while let result = try rawResult() {
        let status = PQresultStatus(result)
        PQclear(result)
        if status == PGRES_PIPELINE_SYNC { break }
        if case .preparation(let text?) = awaited, status != PGRES_COMMAND_OK { prepared.remove(text) }
      }
    }
    queue.removeAll(keepingCapacity: true)
    answered = 0
    isCancelling = false
  }

  private func receivePreparations() throws {
    while answered < queue.count, case .preparation(let text) = queue[answered] {
      answered += 1
      defer { finishStatement() }
      do {
        _ = try nextResult()
      } catch {
        if let text { prepared.remove(text) }
        throw error
      }
    }
  }

  /// Takes the sign that a statement has been answered. A broken connection has its own way to say so.
  private func finishStatement() {
    while let rest = try? rawResult() { PQclear(rest) }
  }

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

  /// The error for a result that is one.
  func error(for result: OpaquePointer) -> CoherenceError {
    let failure = PostgreSQLFailure(result, isFatal: isBroken)
    if failure.sqlState.isEmpty || failure.isDisconnection { return .connectionLost(failure) }
    if failure.sqlState == "57014", isCancelling {
      return CoherenceError(.cancelled, "The task was cancelled while the PostgreSQL server was at work.")
    }
    return CoherenceError(failure)
  }

  /// The next result of libpq's, waited for; `nil` between two statements.
  func rawResult() throws -> OpaquePointer? {
    while PQisBusy(raw) == 1 { try awaitInput() }
    return PQgetResult(raw)
  }

  /// Waits a while for something to come from the server. A cancelled task interrupts the server then.
  func awaitInput() throws {
    let events = wait(for: Int16(POLLIN), milliseconds: 100)
    if events != 0, PQconsumeInput(raw) == 0 { throw connectionLost() }
    if events == 0, isInterruptible, !isCancelling, Task.isCancelled { cancel() }
  }

  // MARK: Cancelling

  /// Asks the server to end what it is at. The statement fails, unless it was at its end already.
  func cancel() {
    isCancelling = true
    guard let cancellation = PQgetCancel(raw) else { return }
    var message = [CChar](repeating: 0, count: 256)
    PQcancel(cancellation, &message, Int32(message.count))
    PQfreeCancel(cancellation)
  }

  /// Runs a block that a cancelled task does not interrupt.
  func uninterrupted<T>(_ body: () throws -> T) rethrows -> T {
    isInterruptible = false
    defer { isInterruptible = true }
    return try body()
  }

  // MARK: Waiting

  private func isReadable(within milliseconds: Int32) -> Bool {
    wait(for: Int16(POLLIN), milliseconds: milliseconds) != 0
  }

  private func wait(for events: Int16, milliseconds: Int32) -> Int16 {
    var descriptor = pollfd(fd: PQsocket(raw), events: events, revents: 0)
    return poll(&descriptor, 1, milliseconds) > 0 ? descriptor.revents : 0
  }

  private func connectionLost() -> CoherenceError { .connectionLost() }
}
