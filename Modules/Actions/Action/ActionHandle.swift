import Synchronization

/// The proxy of an action that has a result.
public final class ActionHandle<Output: Sendable>: ActionProxy {
  private let execution: ActionExecution
  private let output: ActionOutput<Output>

  init(execution: ActionExecution, output: ActionOutput<Output>) {
    self.execution = execution
    self.output = output
  }

  /// The result of the action, waited for.
  ///
  /// - Throws: What the action threw; `CancellationError` when it was canceled and did not throw.
  public var value: Output {
    get async throws {
      await execution.waitUntilFinished()
      if let error = execution.error { throw error }
      guard execution.completionStatus == .successful, let value = output.value else { throw CancellationError() }
      return value
    }
  }

  public var action: any Action { execution.action }
  public var state: ActionState { execution.state }
  public var completionStatus: ActionCompletionStatus { execution.completionStatus }
  public var error: (any Error)? { execution.error }
  public var statistics: ActionStatistics { execution.statistics }
  public func cancel() { execution.cancel() }
  public func waitUntilFinished() async { await execution.waitUntilFinished() }
}

/// The place where an action leaves its result.
final class ActionOutput<Output: Sendable>: Sendable {
  private let stored = Mutex<Output?>(nil)

  var value: Output? {
    get { stored.withLock { $0 } }
    set { stored.withLock { $0 = newValue } }
  }
}
