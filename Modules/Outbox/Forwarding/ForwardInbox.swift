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

  private struct State {
    var news = News()
    var flushes: [CheckedContinuation<Void, any Error>] = []
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

  /// Waits until a search that begins after the call has found nothing to send.
  ///
  /// - Throws: ``ErrorCode/illegalState`` when the forwarder stops before.
  func flush() async throws {
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
      var isClosed = false
      wake { state in
        isClosed = state.isClosed
        if isClosed { return }
        state.flushes.append(continuation)
        state.news.needsScan = true
      }
      if isClosed { continuation.resume(throwing: Outbox.notStarted) }
    }
  }

  /// Ends the flushes, unless a search is due.
  ///
  /// - Parameters:
  ///   - isPaused: Whether no search takes place, because nothing can be sent.
  ///   - isStillPaused: Whether the pause lasts. Asked after the flushes were taken: a flush that was called after the end
  ///     of a pause waits for the entries.
  /// - Returns: Whether no search is due.
  func endFlushes(isPaused: Bool, _ isStillPaused: () -> Bool) -> Bool {
    let ended = state.withLock { state -> [CheckedContinuation<Void, any Error>]? in
      guard isPaused || !state.news.needsScan else { return nil }
      defer { state.flushes = [] }
      return state.flushes
    }
    guard let ended else { return false }
    if isPaused, !isStillPaused() {
      wake { $0.flushes += ended }
      return false
    }
    for flush in ended { flush.resume() }
    return true
  }

  /// Ends the flushes with an error: the loop has ended.
  func close() {
    let ended = state.withLock { state in
      state.isClosed = true
      defer { state.flushes = [] }
      return state.flushes
    }
    for flush in ended { flush.resume(throwing: Outbox.notStarted) }
  }
}
