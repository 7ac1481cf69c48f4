import Dispatch
import Synchronization

/// Runs executions in the order in which they came, up to a number of them at once.
///
/// Each of those that run at once has a lane, a serial queue: actions block, and only serial queues are sure of a thread
/// of their own, however many others are blocked.
final class ActionQueue: Sendable {
  let name: String
  private let lanes: [DispatchQueue]
  private let content: Mutex<Content>

  private struct Content {
    var pending: [ActionExecution] = []
    /// What runs in each lane.
    var running: [ActionExecution?]
    var isSuspended: Bool

    /// Gives the next execution that waits to a lane that is free.
    mutating func takeNext() -> (lane: Int, execution: ActionExecution)? {
      guard !isSuspended, !pending.isEmpty, let lane = running.firstIndex(where: { $0 == nil }) else { return nil }
      let execution = pending.removeFirst()
      running[lane] = execution
      return (lane, execution)
    }
  }

  init(name: String, width: Int, isSuspended: Bool) {
    self.name = name
    lanes = (0..<width).map { _ in DispatchQueue(label: name, qos: .utility) }
    content = Mutex(Content(running: Array(repeating: nil, count: width), isSuspended: isSuspended))
  }

  /// Whether executions that wait go on waiting. Running ones are not affected.
  var isSuspended: Bool {
    get { content.withLock { $0.isSuspended } }
    set {
      content.withLock { $0.isSuspended = newValue }
      startNext()
    }
  }

  func add(_ execution: ActionExecution) {
    execution.didEnter(self)
    content.withLock { $0.pending.append(execution) }
    startNext()
  }

  /// Finishes a canceled execution that waits, ahead of its turn.
  func withdraw(_ execution: ActionExecution) {
    let wasPending = content.withLock { content in
      guard let index = content.pending.firstIndex(where: { $0 === execution }) else { return false }
      content.pending.remove(at: index)
      return true
    }
    if wasPending { execution.run {} }
  }

  /// Cancels all executions and answers them: those that waited are finished, those that run finish when they heed it.
  func cancelAll() -> [ActionExecution] {
    let executions = content.withLock { $0.pending + $0.running.compactMap { $0 } }
    for execution in executions { execution.cancel() }
    return executions
  }

  /// Cancels the executions that wait.
  func cancelPending() {
    for execution in content.withLock({ $0.pending }) { execution.cancel() }
  }

  private func startNext() {
    while let (lane, execution) = content.withLock({ $0.takeNext() }) {
      lanes[lane].async {
        execution.run {
          self.content.withLock { $0.running[lane] = nil }
          self.startNext()
        }
      }
    }
  }
}
