import CoherenceCore
import CoherenceStrategies
import Dispatch
import Foundation
import Logging
import Synchronization

// The work is in two parts that never wait for each other's end: `beginStart` and `beginStop`, which block for as long as
// stores are opened and no longer, and the waiting for a stop, which the callers do in their own ways.

extension GenericConnect {
  public final var state: ConnectState { lifecycle.withLock { $0.state } }

  // MARK: Starting

  public final func start() throws {
    while let stop = try beginStart() {
      try refuseToWaitForCaller()
      // The outcome matters only to the callers of the stop.
      _ = try stop.wait(of: dispatcher)
    }
  }

  public final func start() async throws {
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
      startInBackground(mayWait: !isCalledByOwnAction) { continuation.resume(with: $0) }
    }
  }

  public final func start(block: @escaping @Sendable ((any Error)?) -> Void) {
    startInBackground(mayWait: true, answer(to: block))
  }

  private func startInBackground(mayWait: Bool, _ answer: @escaping ConnectStop.Answer) {
    lifecycleQueue.async {
      do {
        guard let stop = try self.beginStart() else { return answer(.success(())) }
        guard mayWait else { throw Self.waitsForCaller }
        self.lifecycle.withLock { $0.startsInLine += 1 }
        stop.whenFinished { _ in
          self.startInBackground(mayWait: mayWait, answer)
          self.lifecycle.withLock { $0.startsInLine -= 1 }
        }
      } catch {
        answer(.failure(error))
      }
    }
  }

  /// Starts, if stopped.
  ///
  /// - Returns: The stop to wait for first.
  private func beginStart() throws -> ConnectStop? {
    try attachments.withLock { attachments in
      guard take(.start) else {
        let stop = lifecycle.withLock { $0.stop }
        if stop == nil { logger.warning("Already started.", metadata: ["connect": "\(name)"]) }
        return stop
      }
      do {
        try attachMissing(&attachments)
      } catch {
        _ = take(.startFailed)
        throw error
      }
      _ = take(.startSucceeded)
      manageEntities(of: attachments, logging: persistentStoreCoordinator.persistentStores)
      dispatcher.open()
      logger.info("Started.", metadata: ["connect": "\(name)"])
      return nil
    }
  }

  // MARK: Stopping

  public final func stop(_ mode: StopMode, within limit: Duration?) throws {
    guard let stop = beginStop(mode) else { return }
    if isCalledByOwnAction { return reportFailure(of: stop) }
    try stop.wait(within: limit, of: dispatcher).get()
  }

  public final func stop(_ mode: StopMode, within limit: Duration?) async throws {
    let isCalledByOwnAction = isCalledByOwnAction
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
        stopInBackground(mode) { stop in
          guard let stop, !isCalledByOwnAction else {
            stop.map(self.reportFailure)
            return continuation.resume()
          }
          stop.whenFinished(within: limit, of: self.dispatcher) { continuation.resume(with: $0) }
        }
      }
    } onCancel: {
      // Behind the block that begins the stop, so that a stop exists to be hurried.
      lifecycleQueue.async { self.lifecycle.withLock { $0.stop }?.cancelAll() }
    }
  }

  public final func stop(_ mode: StopMode, block: @escaping @Sendable ((any Error)?) -> Void) {
    let answer = answer(to: block)
    stopInBackground(mode) { stop in
      if let stop { stop.whenFinished(answer) } else { answer(.success(())) }
    }
  }

  /// Calls a block of the program with the outcome, where it may block.
  private func answer(to block: @escaping @Sendable ((any Error)?) -> Void) -> ConnectStop.Answer {
    { [callbacks = dispatcher.callbacks] result in callbacks.add { block(result.failure) } }
  }

  private func stopInBackground(_ mode: StopMode, _ block: @escaping @Sendable (ConnectStop?) -> Void) {
    lifecycleQueue.async {
      guard let stop = self.lifecycle.withLock({ $0.startsInLine > 0 ? $0.stop : nil }) else {
        return block(self.beginStop(mode))
      }
      if mode == .cancel { stop.cancelAll() }
      stop.whenFinished { _ in self.stopInBackground(mode, block) }
    }
  }

  /// Ends the management of entities and begins to wait for actions, or joins the running stop.
  ///
  /// - Returns: `nil` for a Connect that needs no stop.
  private func beginStop(_ mode: StopMode) -> ConnectStop? {
    let (stop, isFirst) = attachments.withLock { _ in
      let fresh = ConnectStop()
      guard take(.stop, stop: fresh) else { return (lifecycle.withLock { $0.stop }, false) }
      fresh.note(dispatcher.close())
      return (fresh, true)
    }
    guard let stop else {
      logger.warning("Already stopped.", metadata: ["connect": "\(name)"])
      return nil
    }
    // Without the lock: actions are asked to end, and may want something of the Connect before they do.
    if mode == .cancel { stop.cancelAll() }
    if isFirst {
      stop.cancelSuspended()
      stop.whenActionsFinished(on: lifecycleQueue) { self.finish(stop) }
    }
    return stop
  }

  /// The actions have finished.
  private func finish(_ stop: ConnectStop) {
    let result = attachments.withLock { attachments in
      let result = Result { try detachAll(&attachments) }
      _ = take(.stopFinished)
      return result
    }
    logger.info("Stopped.", metadata: ["connect": "\(name)"])
    stop.finish(result)
  }

  private func reportFailure(of stop: ConnectStop) {
    stop.whenFinished { [errorHandler] result in
      if let error = result.failure { errorHandler(error) }
    }
  }

  // MARK: States

  /// Takes a transition, if it is legal now, and sends its event.
  private func take(_ transition: ConnectTransition, stop: ConnectStop? = nil) -> Bool {
    lifecycle.withLock { lifecycle in
      guard lifecycle.take(transition, stop: stop) else { return false }
      dispatcher.events.didChange(lifecycle.state)
      return true
    }
  }

  private var isCalledByOwnAction: Bool { AnyActionHandle.current?.scheduler === dispatcher }

  private func refuseToWaitForCaller() throws {
    if isCalledByOwnAction { throw Self.waitsForCaller }
  }

  private static var waitsForCaller: CoherenceError {
    CoherenceError(
      .illegalState, "The Connect is stopping and waits for the action that wants to start it; start it elsewhere.")
  }
}

extension Result {
  fileprivate var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
}
