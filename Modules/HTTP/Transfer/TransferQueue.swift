import Foundation
import Synchronization

/// Admits a limited number of simultaneous transfers to each origin. Further transfers wait in the order of their
/// requests.
///
/// A session or a pool of connections has a limit of its own, but does not report the start of a waiting request. With
/// this queue before it, a request gets its connection at its admission, so that time limits need not count the wait.
package final class TransferQueue: Sendable {
  /// The maximum number of simultaneous transfers to one origin; 0 for no limit.
  private let limit: Int
  private let state = Mutex(State())

  private struct State {
    var origins: [HTTPOrigin: Transfers] = [:]
    var nextTicket = 0
  }

  /// The transfers to one origin.
  private struct Transfers {
    var running = 0
    /// The waiting transfers by ticket. A continuation receives whether the transfer is admitted.
    var waiting: [Int: CheckedContinuation<Bool, Never>] = [:]
    /// The tickets in the order of arrival, including the tickets of cancelled transfers.
    var tickets: ArraySlice<Int> = []

    /// Removes and returns the first waiting transfer; `nil` without one.
    mutating func removeFirst() -> CheckedContinuation<Bool, Never>? {
      while let ticket = tickets.popFirst() {
        if let continuation = waiting.removeValue(forKey: ticket) { return continuation }
      }
      return nil
    }

    /// Removes a cancelled transfer. Its ticket stays, and has no effect without a continuation, until most of many
    /// tickets are those of cancelled transfers: while long transfers occupy every slot, tickets would accumulate.
    mutating func remove(_ ticket: Int) -> CheckedContinuation<Bool, Never>? {
      let continuation = waiting.removeValue(forKey: ticket)
      if tickets.count > 64, tickets.count > 2 * waiting.count { tickets = tickets.filter { waiting[$0] != nil }[...] }
      return continuation
    }
  }

  package init(limit: Int) { self.limit = max(limit, 0) }

  /// The number of waiting transfers to all origins.
  package var waitingCount: Int { state.withLock { $0.origins.values.reduce(0) { $0 + $1.waiting.count } } }

  /// The number of tickets for all origins.
  package var ticketCount: Int { state.withLock { $0.origins.values.reduce(0) { $0 + $1.tickets.count } } }

  /// Waits until a transfer may begin. The time limits of the task are paused during the wait.
  ///
  /// - Parameter origin: `nil`, for an address without an origin of HTTP, admits the transfer at once.
  /// - Returns: A permit, which the caller releases at the end of the transfer.
  /// - Throws: `CancellationError` as soon as the task is cancelled.
  package func admit(to origin: HTTPOrigin?) async throws -> TransferPermit {
    try Task.checkCancellation()
    guard limit > 0, let origin else { return TransferPermit {} }
    if !state.withLock({ startTransfer(origin, in: &$0) }) {
      try await TransferTimer.paused { try await wait(for: origin) }
    }
    return TransferPermit { [self] in release(origin) }
  }

  /// Counts a transfer as running, if the limit allows it.
  ///
  /// - Returns: Whether the transfer may begin.
  private func startTransfer(_ origin: HTTPOrigin, in state: inout State) -> Bool {
    guard state.origins[origin, default: Transfers()].running < limit else { return false }
    state.origins[origin, default: Transfers()].running += 1
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

  /// Adds a waiting transfer, or resumes it at once if it is admitted or cancelled.
  private func enter(_ origin: HTTPOrigin, _ ticket: Int, _ continuation: CheckedContinuation<Bool, Never>) {
    let isAdmitted: Bool? = state.withLock { state in
      // An earlier cancellation has found no ticket to remove.
      if Task.isCancelled { return false }
      // A transfer may have ended since the first attempt.
      if startTransfer(origin, in: &state) { return true }
      state.origins[origin, default: Transfers()].tickets.append(ticket)
      state.origins[origin, default: Transfers()].waiting[ticket] = continuation
      return nil
    }
    if let isAdmitted { continuation.resume(returning: isAdmitted) }
  }

  /// Removes a cancelled transfer.
  private func leave(_ origin: HTTPOrigin, _ ticket: Int) {
    let continuation = state.withLock { $0.origins[origin]?.remove(ticket) }
    continuation?.resume(returning: false)
  }

  /// Passes the slot of a finished transfer to the first waiting transfer.
  private func release(_ origin: HTTPOrigin) {
    let next: CheckedContinuation<Bool, Never>? = state.withLock { state in
      guard var transfers = state.origins.removeValue(forKey: origin) else { return nil }
      let next = transfers.removeFirst()
      if next == nil { transfers.running -= 1 }
      // An origin without transfers is removed, so that the dictionary does not grow with every visited origin.
      if transfers.running > 0 { state.origins[origin] = transfers }
      return next
    }
    next?.resume(returning: true)
  }
}

/// The slot of one transfer in the ``TransferQueue``. Released at the end of the transfer, or with the last reference.
package final class TransferPermit: Sendable {
  private let onRelease: Mutex<(@Sendable () -> Void)?>

  init(_ onRelease: @escaping @Sendable () -> Void) { self.onRelease = Mutex(onRelease) }

  deinit { release() }

  /// Releases the slot. Further calls have no effect.
  package func release() {
    let onRelease = onRelease.withLock { onRelease in
      defer { onRelease = nil }
      return onRelease
    }
    onRelease?()
  }
}
