import CoherenceActions
import Synchronization

/// The messages to the loop of a forwarder: results of calls, requests for a search, timers, and the stop.
///
/// May be used from any thread. Only the loop takes the messages, and waits for them.
final class ForwardMessages: Sendable {
  /// The phase of the loop.
  enum Mode: Sendable { case running, draining, canceling, crashed }

  /// The messages since the last call of ``take()``.
  struct Unread: Sendable {
    var mode = Mode.running
    /// The results of ended calls.
    var outcomes: [ForwardOutcome] = []
    /// The numbers of the ended calls.
    var endedCalls: [Int] = []
    /// Whether entries may have become ready, so that a search is due.
    var needsSearch = true
    /// Whether the renewal of the leases is due.
    var needsRenewal = false
    /// Whether the delay after a failure of the store has ended.
    var delayEnded = false
    /// Whether the delay after the failure of one of several stores has ended.
    var storeDelayEnded = false
    /// Whether the network was offline in the meantime, even if it is online again.
    var wasOffline = false
    /// Whether a flush has begun.
    var hasNewFlush = false
    /// Whether it is time to look again for the edits of other forwarders, for which a flush waits.
    var watchEnded = false
  }

  private struct Flush {
    let waiter: CancellableWait<Int?>
    let waitsForOthers: Bool
  }

  private struct State {
    var unread = Unread()
    var flushes: [Flush] = []
    /// Whether the loop has ended, so that no flush can wait for it.
    var isClosed = false
    /// Whether a message has come while the loop did not wait.
    var isWoken = false
    /// The continuation of the waiting loop.
    var waitingLoop: CheckedContinuation<Void, Never>?
  }

  /// The calls of handlers, for whose end the loop waits, as actions may know them.
  let handlerCalls = AwaitedWork()
  private let state = Mutex(State())

  var mode: Mode { state.withLock { $0.unread.mode } }
  var hasCrashed: Bool { mode == .crashed }

  /// Returns the messages, and removes them. ``Unread/needsSearch`` stays until ``beginSearch()``.
  func take() -> Unread {
    state.withLock { state in
      defer {
        state.unread.outcomes = []
        state.unread.endedCalls = []
        state.unread.needsRenewal = false
        state.unread.delayEnded = false
        state.unread.storeDelayEnded = false
        state.unread.wasOffline = false
        state.unread.hasNewFlush = false
        state.unread.watchEnded = false
      }
      return state.unread
    }
  }

  /// Marks the requested search as begun. Later messages ask for another search.
  func beginSearch() { state.withLock { $0.unread.needsSearch = false } }

  // MARK: Sending

  /// Asks for a search.
  func requestSearch() { wake { $0.unread.needsSearch = true } }
  /// Wakes the loop, so that it compares the reasons of a pause. The loop searches at the end of a pause by itself.
  func requestPauseUpdate() { wake { _ in } }
  /// Wakes the loop after a change of the network, as ``requestPauseUpdate()`` does.
  func noteConnectivity(isOnline: Bool) { wake { if !isOnline { $0.unread.wasOffline = true } } }
  /// Asks for a renewal of the leases.
  func requestRenewal() { wake { $0.unread.needsRenewal = true } }
  /// Ends the delay after a failure of the store.
  func endDelay() { wake { $0.unread.delayEnded = true } }

  /// Ends the delay after the failure of one of several stores, and asks for a search.
  func endStoreDelay() {
    wake { state in
      state.unread.storeDelayEnded = true
      state.unread.needsSearch = true
    }
  }

  /// Asks for a search on behalf of a flush that waits for other forwarders.
  func endWatch() {
    wake { state in
      state.unread.watchEnded = true
      state.unread.needsSearch = true
    }
  }

  /// Adds the results of an ended call.
  func finish(_ call: Int, _ outcomes: [ForwardOutcome]) {
    wake { state in
      state.unread.endedCalls.append(call)
      state.unread.outcomes += outcomes
    }
  }

  /// Asks the loop to stop. `.cancel` takes precedence over `.drain`.
  func stop(_ mode: StopMode) {
    wake { state in
      switch (state.unread.mode, mode) {
      case (.running, .drain): state.unread.mode = .draining
      case (.running, .cancel), (.draining, .cancel): state.unread.mode = .canceling
      default: break
      }
    }
  }

  /// Ends the loop as a crash would: the loop writes nothing more.
  func crash() { wake { $0.unread.mode = .crashed } }

  // MARK: Waiting

  /// Waits for a message. Called by the loop alone.
  func wait() async {
    await withCheckedContinuation { continuation in
      let hasMessages = state.withLock { state in
        defer { state.isWoken = false }
        if !state.isWoken { state.waitingLoop = continuation }
        return state.isWoken
      }
      if hasMessages { continuation.resume() }
    }
  }

  /// Adds a message, and wakes the loop.
  private func wake(_ change: (inout State) -> Void) {
    let waitingLoop = state.withLock { state in
      change(&state)
      defer { state.waitingLoop = nil }
      if state.waitingLoop == nil { state.isWoken = true }
      return state.waitingLoop
    }
    waitingLoop?.resume()
  }

  // MARK: Flushes

  /// Waits until a search that begins after the call finds nothing to send and no edit is on its way.
  ///
  /// - Parameter waitsForOthers: Whether the call also waits for the edits that other forwarders have claimed.
  /// - Returns: The number of remaining entries; `nil` when the searches have not counted them.
  /// - Throws: ``ErrorCode/illegalState`` when the forwarder stops before that; `CancellationError` as soon as the task
  ///   is cancelled.
  func flush(waitsForOthers: Bool) async throws -> Int? {
    let flush = Flush(waiter: CancellableWait<Int?>(), waitsForOthers: waitsForOthers)
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Int?, any Error>) in
        flush.waiter.suspend(continuation)
        begin(flush)
      }
    } onCancel: {
      flush.waiter.resume(with: .failure(CancellationError()))
      state.withLock { $0.flushes.removeAll { $0.waiter === flush.waiter } }
    }
  }

  /// Asks the loop for a search on behalf of a flush.
  private func begin(_ flush: Flush) {
    var isClosed = false
    wake { state in
      isClosed = state.isClosed
      // An earlier cancellation is detected here; a later one finds the flush in the list.
      if isClosed || flush.waiter.hasEnded { return }
      state.flushes.append(flush)
      state.unread.needsSearch = true
      state.unread.hasNewFlush = true
    }
    if isClosed { flush.waiter.resume(with: .failure(Outbox.notStarted)) }
  }

  /// Ends the waiting flushes, unless a search is due.
  ///
  /// - Parameters:
  ///   - isPaused: Whether sending is paused, so that no search takes place.
  ///   - othersSend: Whether other forwarders have claimed edits.
  ///   - left: The number of remaining entries; `nil` when the number is not known.
  ///   - isStillPaused: Returns whether the pause still lasts. Called after the flushes are taken: a flush called after
  ///     the end of a pause must wait for the entries.
  /// - Returns: Whether no search is due.
  func endFlushes(isPaused: Bool, othersSend: Bool, left: Int?, _ isStillPaused: () -> Bool) -> Bool {
    let ended = state.withLock { state -> [Flush]? in
      guard isPaused || !state.unread.needsSearch else { return nil }
      let waits: (Flush) -> Bool = { $0.waitsForOthers && othersSend && !isPaused }
      defer { state.flushes.removeAll { !waits($0) } }
      return state.flushes.filter { !waits($0) }
    }
    guard let ended else { return false }
    if isPaused, !isStillPaused() {
      // A flush that was cancelled in between must not wait in the list: nothing removes it any more.
      wake { state in state.flushes += ended.filter { !$0.waiter.hasEnded } }
      return false
    }
    for flush in ended { flush.waiter.resume(with: .success(left)) }
    return true
  }

  /// Whether a flush waits.
  var hasFlushes: Bool { state.withLock { !$0.flushes.isEmpty } }

  /// Ends all flushes, present and later ones, with an error, because the loop has ended.
  func close() {
    let ended = state.withLock { state in
      state.isClosed = true
      defer { state.flushes = [] }
      return state.flushes
    }
    for flush in ended { flush.waiter.resume(with: .failure(Outbox.notStarted)) }
  }
}
