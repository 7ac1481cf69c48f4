import CoherenceActions
import Synchronization

/// The news for the loop of a forwarder: finished calls, wishes for a search, and the end.
///
/// May be used from any thread; only the loop takes the news.
final class ForwardInbox: Sendable {
  /// The course of the loop.
  enum Mode: Sendable { case running, draining, canceling, dead }

  /// The news since the last look.
  struct News: Sendable {
    var mode = Mode.running
    /// The results of calls that have ended.
    var outcomes: [ForwardOutcome] = []
    /// The number of calls that have ended.
    var endedCalls: [Int] = []
    /// Whether entries may have become ready.
    var needsScan = true
    /// Whether leases have to be renewed.
    var needsRenewal = false
    /// Whether the delay after a failure of the store has ended.
    var delayEnded = false
  }

  private struct Flush {
    let continuation: CheckedContinuation<Int?, any Error>
    let waitsForOthers: Bool
  }

  private struct State {
    var news = News()
    var flushes: [Flush] = []
    var isClosed = false
    var isWoken = false
    var sleeper: CheckedContinuation<Void, Never>?
  }

  private let state = Mutex(State())

  var mode: Mode { state.withLock { $0.news.mode } }
  var isDead: Bool { mode == .dead }

  /// Takes the news. The wish for a search stays until ``beginScan()``.
  func take() -> News {
    state.withLock { state in
      defer {
        state.news.outcomes = []
        state.news.endedCalls = []
        state.news.needsRenewal = false
        state.news.delayEnded = false
      }
      return state.news
    }
  }

  /// Begins a search. News that come from now on ask for another one.
  func beginScan() { state.withLock { $0.news.needsScan = false } }

  // MARK: News

  func requestScan() { wake { $0.news.needsScan = true } }
  /// Has the loop look whether sending is paused. The end of a pause asks for a search by itself.
  func requestPauseUpdate() { wake { _ in } }
  func requestRenewal() { wake { $0.news.needsRenewal = true } }
  func endDelay() { wake { $0.news.delayEnded = true } }

  /// Adds the results of an ended call.
  func finish(_ call: Int, _ outcomes: [ForwardOutcome]) {
    wake { state in
      state.news.endedCalls.append(call)
      state.news.outcomes += outcomes
    }
  }

  /// Asks the loop to end. `.cancel` outweighs `.drain`.
  func stop(_ mode: StopMode) {
    wake { state in
      switch (state.news.mode, mode) {
      case (.running, .drain): state.news.mode = .draining
      case (.running, .cancel), (.draining, .cancel): state.news.mode = .canceling
      default: break
      }
    }
  }

  /// Ends the loop as a crash would: nothing more is written.
  func die() { wake { $0.news.mode = .dead } }

  // MARK: Waiting

  /// Waits for news. Only the loop calls this.
  func wait() async {
    await withCheckedContinuation { continuation in
      let hasNews = state.withLock { state in
        defer { state.isWoken = false }
        if !state.isWoken { state.sleeper = continuation }
        return state.isWoken
      }
      if hasNews { continuation.resume() }
    }
  }

  private func wake(_ change: (inout State) -> Void) {
    let sleeper = state.withLock { state in
      change(&state)
      defer { state.sleeper = nil }
      if state.sleeper == nil { state.isWoken = true }
      return state.sleeper
    }
    sleeper?.resume()
  }

  // MARK: Flushes

  /// Waits until a search that begins after the call has left nothing to send.
  ///
  /// - Parameter waitsForOthers: Whether the claims of other forwarders count as something to send.
  /// - Returns: The number of entries that are left; `nil` when the searches have not counted them.
  /// - Throws: ``ErrorCode/illegalState`` when the forwarder stops before.
  func flush(waitsForOthers: Bool) async throws -> Int? {
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Int?, any Error>) in
      var isClosed = false
      wake { state in
        isClosed = state.isClosed
        if isClosed { return }
        state.flushes.append(Flush(continuation: continuation, waitsForOthers: waitsForOthers))
        state.news.needsScan = true
      }
      if isClosed { continuation.resume(throwing: Outbox.notStarted) }
    }
  }

  /// Ends the flushes, unless a search is due.
  ///
  /// - Parameters:
  ///   - isPaused: Whether no search takes place, because nothing can be sent.
  ///   - othersSend: Whether other forwarders have claims.
  ///   - left: The number of entries that are left; `nil` when it is not known.
  ///   - isStillPaused: Whether the pause lasts. Asked after the flushes were taken: a flush that was called after the end
  ///     of a pause waits for the entries.
  /// - Returns: Whether no search is due.
  func endFlushes(isPaused: Bool, othersSend: Bool, left: Int?, _ isStillPaused: () -> Bool) -> Bool {
    let ended = state.withLock { state -> [Flush]? in
      guard isPaused || !state.news.needsScan else { return nil }
      let waits: (Flush) -> Bool = { $0.waitsForOthers && othersSend && !isPaused }
      defer { state.flushes.removeAll { !waits($0) } }
      return state.flushes.filter { !waits($0) }
    }
    guard let ended else { return false }
    if isPaused, !isStillPaused() {
      wake { $0.flushes += ended }
      return false
    }
    for flush in ended { flush.continuation.resume(returning: left) }
    return true
  }

  /// Ends the flushes with an error: the loop has ended.
  func close() {
    let ended = state.withLock { state in
      state.isClosed = true
      defer { state.flushes = [] }
      return state.flushes
    }
    for flush in ended { flush.continuation.resume(throwing: Outbox.notStarted) }
  }
}
