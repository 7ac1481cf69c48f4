import CoherenceCore
import Dispatch
import Synchronization

/// A submitted action, and its result.
///
/// ```swift
/// let handle = try connect.execute(CountAlbums())
/// print(try await handle.value)
/// ```
///
/// May be used from any thread. Releasing the handle does not cancel the action, and keeping it does not keep the Connect.
public final class ActionHandle<Output: Sendable>: AnyActionHandle, @unchecked Sendable {
  // Sendable: as the base class is; what changes here is behind a mutex.

  private let body: ActionBody<Output>
  private let output = Mutex<Output?>(nil)

  init(_ action: any Action, _ body: ActionBody<Output>, _ configuration: Configuration) {
    self.body = body
    super.init(action, configuration)
  }

  /// Waits for the end of the action and returns its result. Cancelling the waiting task ends the wait and not the
  /// action; ``AnyActionHandle/cancel()`` cancels the action.
  ///
  /// - Throws: The error of the action, ``ActionProxy/error``; `CancellationError` when the action was cancelled and
  ///   did not throw; the errors of ``ActionProxy/waitUntilFinished()``.
  public var value: Output {
    get async throws {
      try await waitUntilFinished()
      if let error { throw error }
      guard completionStatus == .successful, let value = output.withLock({ $0 }) else { throw CancellationError() }
      return value
    }
  }

  override var mayBlock: Bool { if case .blocking = body { true } else { false } }

  override func attempt(inLane lane: Int) -> UInt64? {
    switch body {
    case .blocking(let body):
      let startTime = DispatchTime.now().uptimeNanoseconds
      let error = Self.$executing.withValue(self) {
        MainDemand.working(for: scheduler) { storeOutput { try body(self) } }
      }
      let time = DispatchTime.now().uptimeNanoseconds - startTime
      endAttempt(throwing: error)
      return time
    case .asynchronous(let body):
      start(body, inLane: lane)
      return nil
    }
  }

  /// Runs an attempt in a task, which lets the lane continue at its end.
  private func start(_ body: @escaping @Sendable (AnyActionHandle) async throws -> Output, inLane lane: Int) {
    let attempt = lifecycle.withLock { $0.attempts }
    // Detached: the task of the previous action may start this one, which must not inherit its task-local values.
    let task = Task.detached { [self] in
      let startTime = DispatchTime.now().uptimeNanoseconds
      let error = await Self.$executing.withValue(self) {
        await MainDemand.working(for: scheduler) { await storeOutput { try await body(self) } }
      }
      let time = DispatchTime.now().uptimeNanoseconds - startTime
      endAttempt(throwing: error)
      queue.laneDidFinish(lane, after: time)
    }
    didStart(task, ofAttempt: attempt)
  }

  /// Does the work and stores its result. Returns the error of failed work.
  private func storeOutput(of work: () throws -> Output) -> (any Error)? {
    do {
      let value = try work()
      output.withLock { $0 = value }
      return nil
    } catch {
      return error
    }
  }

  /// Does asynchronous work, as the blocking form does.
  private func storeOutput(of work: () async throws -> Output) async -> (any Error)? {
    do {
      let value = try await work()
      output.withLock { $0 = value }
      return nil
    } catch {
      return error
    }
  }
}
