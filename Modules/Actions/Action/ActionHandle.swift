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
/// May be used from any thread. Keeping it does not keep the action in its queue, nor the Connect.
public final class ActionHandle<Output: Sendable>: AnyActionHandle, @unchecked Sendable {
  // Sendable: as the base class is; what changes here is behind a mutex.

  private let body: ActionBody<Output>
  private let output = Mutex<Output?>(nil)

  init(_ action: any Action, _ body: ActionBody<Output>, in submission: ActionSubmission) {
    self.body = body
    super.init(action, in: submission)
  }

  /// The result of the action, waited for. Canceling the task that waits ends the waiting, and not the action: see
  /// ``AnyActionHandle/cancel()`` for that.
  ///
  /// - Throws: What the action threw; `CancellationError` when it was canceled and did not throw; and what
  ///   ``ActionProxy/waitUntilFinished()`` throws.
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
      let beginning = DispatchTime.now().uptimeNanoseconds
      let error = Self.$executing.withValue(self) {
        MainDemand.working(for: dispatcher) { failure { try body(self) } }
      }
      let time = DispatchTime.now().uptimeNanoseconds - beginning
      end(throwing: error)
      return time
    case .asynchronous(let body):
      start(body, inLane: lane)
      return nil
    }
  }

  private func start(_ body: @escaping @Sendable (AnyActionHandle) async throws -> Output, inLane lane: Int) {
    // Detached, for it may be started by the task of the action before, whose task-local values are no affair of this one.
    let task = Task.detached { [self] in
      let beginning = DispatchTime.now().uptimeNanoseconds
      let error = await Self.$executing.withValue(self) {
        await MainDemand.working(for: dispatcher) { await failure { try await body(self) } }
      }
      let time = DispatchTime.now().uptimeNanoseconds - beginning
      end(throwing: error)
      queue.laneIsFree(lane, after: time)
    }
    didStart(task)
  }

  private func failure(of work: () throws -> Output) -> (any Error)? {
    do {
      let value = try work()
      output.withLock { $0 = value }
      return nil
    } catch {
      return error
    }
  }

  private func failure(of work: () async throws -> Output) async -> (any Error)? {
    do {
      let value = try await work()
      output.withLock { $0 = value }
      return nil
    } catch {
      return error
    }
  }
}
