import CoherenceCore
import CoherenceStrategies
import Dispatch
import Foundation
import Logging
import Synchronization

// Starting and stopping have two parts. `beginStart` and `beginStop` change the state under the lock of the attachments,
// and block only while stores are opened. The wait for the end of a stop happens outside of the lock: each public form
// waits in its own way.

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
    startInBackground(mayWait: true, completion(calling: block))
  }

  /// Starts the Connect on the lifecycle queue, after the present stop.
  ///
  /// - Parameter mayWait: Whether the start may wait for a stop. A start by an action of this Connect must not, because
  ///   the stop waits for the action.
  private func startInBackground(mayWait: Bool, _ completion: @escaping ConnectStop.Completion) {
    lifecycleQueue.async {
      do {
        guard let stop = try self.beginStart() else { return completion(.success(())) }
        guard mayWait else { throw Self.waitsForCaller }
        self.lifecycle.withLock { $0.waitingStartCount += 1 }
        stop.whenFinished { _ in
          // Enqueued before the count decreases: a stop that finds no waiting start is enqueued behind this start.
          self.startInBackground(mayWait: mayWait, completion)
          self.lifecycle.withLock { $0.waitingStartCount -= 1 }
        }
      } catch {
        completion(.failure(error))
      }
    }
  }

  /// Starts a stopped Connect.
  ///
  /// - Returns: The present stop, which the caller has to wait for first; `nil` when the Connect is started.
  private func beginStart() throws -> ConnectStop? {
    try attachments.withLock { attachments in
      guard apply(.start) else {
        let stop = lifecycle.withLock { $0.stop }
        if stop == nil { logger.warning("Already started.", metadata: ["connect": "\(name)"]) }
        return stop
      }
      do {
        try attachMissing(&attachments)
      } catch {
        _ = apply(.startFailed)
        throw error
      }
      _ = apply(.startSucceeded)
      manageEntities(of: attachments, logging: persistentStoreCoordinator.persistentStores)
      dispatcher.open()
      logger.info("Started.", metadata: ["connect": "\(name)"])
      return nil
    }
  }

  // MARK: Stopping

  public final func stop(_ mode: StopMode, within limit: Duration?) throws {
    guard let stop = beginStop(mode) else { return }
    guard !isCalledByOwnAction, case .success(let wait) = Result(catching: { try stop.beginWait(of: .current) }) else {
      return reportFailure(of: stop)
    }
    defer { wait?.end() }
    try stop.wait(within: limit, of: dispatcher).get()
  }

  public final func stop(_ mode: StopMode, within limit: Duration?) async throws {
    let (isCalledByOwnAction, caller) = (isCalledByOwnAction, WaitGraph.Waiter.current)
    let isCanceled = Locked(false)
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
        stopInBackground(mode) { stop in
          // A task that was cancelled before the stop began has found no stop whose actions it could cancel.
          if isCanceled.withLock({ $0 }) { stop?.cancelAll() }
          guard let stop, !isCalledByOwnAction,
            case .success(let wait) = Result(catching: { try stop.beginWait(of: caller) })
          else {
            stop.map(self.reportFailure)
            return continuation.resume()
          }
          stop.whenFinished(within: limit, of: self.dispatcher) { result in
            wait?.end()
            continuation.resume(with: result)
          }
        }
      }
    } onCancel: {
      isCanceled.withLock { $0 = true }
      // On the same queue, behind the block that begins the stop, if the stop has been requested.
      lifecycleQueue.async { self.lifecycle.withLock { $0.stop }?.cancelAll() }
    }
  }

  public final func stop(_ mode: StopMode, block: @escaping @Sendable ((any Error)?) -> Void) {
    let completion = completion(calling: block)
    stopInBackground(mode) { stop in
      if let stop { stop.whenFinished(completion) } else { completion(.success(())) }
    }
  }

  /// A completion that calls a block of the program on a thread where the block may block.
  private func completion(calling block: @escaping @Sendable ((any Error)?) -> Void) -> ConnectStop.Completion {
    { [callbacks = dispatcher.callbacks] result in callbacks.add { block(result.failure) } }
  }

  /// Begins or joins a stop on the lifecycle queue, after the starts that wait for the present stop.
  private func stopInBackground(_ mode: StopMode, _ block: @escaping @Sendable (ConnectStop?) -> Void) {
    lifecycleQueue.async {
      guard let stop = self.lifecycle.withLock({ $0.waitingStartCount > 0 ? $0.stop : nil }) else {
        return block(self.beginStop(mode))
      }
      if mode == .cancel { stop.cancelAll() }
      stop.whenFinished { _ in self.stopInBackground(mode, block) }
    }
  }

  /// Begins a stop, or joins the present one. With `.cancel`, the actions are cancelled in both cases.
  ///
  /// - Returns: The stop; `nil` for a stopped Connect.
  private func beginStop(_ mode: StopMode) -> ConnectStop? {
    let (stop, isNew) = attachments.withLock { _ in
      let newStop = ConnectStop()
      guard apply(.stop, stop: newStop) else { return (lifecycle.withLock { $0.stop }, false) }
      newStop.setActions(dispatcher.close())
      return (newStop, true)
    }
    guard let stop else {
      logger.warning("Already stopped.", metadata: ["connect": "\(name)"])
      return nil
    }
    // Without the lock: `cancel` of an action is code of the program and may call the Connect.
    if mode == .cancel { stop.cancelAll() }
    if isNew {
      stop.cancelSuspended()
      stop.whenActionsFinished(on: lifecycleQueue) { self.finish(stop) }
    }
    return stop
  }

  /// Detaches the stores and ends the stop. The actions have finished.
  private func finish(_ stop: ConnectStop) {
    let result = attachments.withLock { attachments in
      let result = Result { try detachAll(&attachments) }
      _ = apply(.stopFinished)
      return result
    }
    logger.info("Stopped.", metadata: ["connect": "\(name)"])
    stop.finish(result)
  }

  /// Passes the error of a stop without a waiting caller to the error handler.
  private func reportFailure(of stop: ConnectStop) {
    stop.whenFinished { [errorHandler] result in
      if let error = result.failure { errorHandler(error) }
    }
  }

  // MARK: States

  /// Applies a transition, if it is legal in the present state, and publishes the new state.
  ///
  /// - Returns: Whether the transition was legal.
  private func apply(_ transition: ConnectTransition, stop: ConnectStop? = nil) -> Bool {
    lifecycle.withLock { lifecycle in
      guard lifecycle.apply(transition, stop: stop) else { return false }
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
