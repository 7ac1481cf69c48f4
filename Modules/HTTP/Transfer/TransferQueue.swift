import Foundation
import Synchronization

/// Admits a limited number of transfers to one origin at a time; the others wait in the order of their requests.
///
/// A session has a limit of its own, and does not tell when a request leaves its queue. With this queue before it, a
/// request gets its connection when it is admitted, so that time limits need not count the wait.
final class TransferQueue: Sendable {
  /// 0 admits every transfer at once.
  private let limit: Int
  private let state = Mutex(State())

  private struct State {
    var lines: [HTTPOrigin: Line] = [:]
    var nextTicket = 0
  }

  /// The transfers to one origin.
  private struct Line {
    var running = 0
    var waiting: [Int: CheckedContinuation<Bool, Never>] = [:]
    /// In the order of arrival, those of canceled transfers among them.
    var tickets: ArraySlice<Int> = []

    mutating func removeFirst() -> CheckedContinuation<Bool, Never>? {
      while let ticket = tickets.popFirst() {
        if let continuation = waiting.removeValue(forKey: ticket) { return continuation }
      }
      return nil
    }
  }

  init(limit: Int) { self.limit = max(limit, 0) }

  /// How many transfers wait, to whatever origin.
  var waitingCount: Int { state.withLock { $0.lines.values.reduce(0) { $0 + $1.waiting.count } } }

  /// Returns when the transfer may begin. Time limits stand still until then.
  ///
  /// - Parameter origin: Without one, as with an address of another scheme than HTTP, the transfer begins at once.
  /// - Throws: `CancellationError`, as soon as the task is canceled.
  func admit(to origin: HTTPOrigin?) async throws -> TransferPermit {
    try Task.checkCancellation()
    guard limit > 0, let origin else { return TransferPermit {} }
    if !state.withLock({ takesTurn(origin, in: &$0) }) {
      try await TransferTimer.paused { try await wait(for: origin) }
    }
    return TransferPermit { [self] in release(origin) }
  }

  /// Whether a transfer may begin without waiting; it counts as running then.
  private func takesTurn(_ origin: HTTPOrigin, in state: inout State) -> Bool {
    guard state.lines[origin, default: Line()].running < limit else { return false }
    state.lines[origin, default: Line()].running += 1
    return true
  }

  private func wait(for origin: HTTPOrigin) async throws {
    let ticket = state.withLock { state in
      defer { state.nextTicket += 1 }
      return state.nextTicket
    }
    let isAdmitted = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in enter(origin, ticket, continuation) }
    } onCancel: {
      leave(origin, ticket)
    }
    if !isAdmitted { throw CancellationError() }
  }

  private func enter(_ origin: HTTPOrigin, _ ticket: Int, _ continuation: CheckedContinuation<Bool, Never>) {
    let isAdmitted: Bool? = state.withLock { state in
      // A cancellation before this moment finds no ticket to take out.
      if Task.isCancelled { return false }
      // A transfer may have ended since the first look.
      if takesTurn(origin, in: &state) { return true }
      state.lines[origin, default: Line()].tickets.append(ticket)
      state.lines[origin, default: Line()].waiting[ticket] = continuation
      return nil
    }
    if let isAdmitted { continuation.resume(returning: isAdmitted) }
  }

  private func leave(_ origin: HTTPOrigin, _ ticket: Int) {
    let continuation = state.withLock { $0.lines[origin]?.waiting.removeValue(forKey: ticket) }
    continuation?.resume(returning: false)
  }

  /// Gives the place of a transfer that ended to the first one that waits.
  private func release(_ origin: HTTPOrigin) {
    let next: CheckedContinuation<Bool, Never>? = state.withLock { state in
      guard var line = state.lines.removeValue(forKey: origin) else { return nil }
      let next = line.removeFirst()
      if next == nil { line.running -= 1 }
      // An origin without transfers takes no memory.
      if line.running > 0 { state.lines[origin] = line }
      return next
    }
    next?.resume(returning: true)
  }
}

/// The place of one transfer, given back when the transfer ends.
final class TransferPermit: Sendable {
  private let giveBack: Mutex<(@Sendable () -> Void)?>

  init(_ giveBack: @escaping @Sendable () -> Void) { self.giveBack = Mutex(giveBack) }

  deinit { release() }

  /// Gives the place back; once, however often this is called.
  func release() {
    let giveBack = giveBack.withLock { giveBack in
      defer { giveBack = nil }
      return giveBack
    }
    giveBack?()
  }
}
