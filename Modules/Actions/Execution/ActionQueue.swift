import Dispatch
import Synchronization

/// Runs executions in the order in which they came, up to a number of them at once.
final class ActionQueue: Sendable {
  let name: String
  private let width: Int
  private let threads: DispatchQueue
  private let content: Mutex<Content>

  private struct Content {
    var pending: [ActionExecution] = []
    var running: [ActionExecution] = []
    var isSuspended: Bool
  }

  init(name: String, width: Int, isSuspended: Bool) {
    self.name = name
    self.width = width
    threads = DispatchQueue(label: name, qos: .utility, attributes: .concurrent)
    content = Mutex(Content(isSuspended: isSuspended))
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

  /// Finishes an execution that waits, ahead of its turn.
  func withdraw(_ execution: ActionExecution) {
    let wasPending = content.withLock { content in
      guard let index = content.pending.firstIndex(where: { $0 === execution }) else { return false }
      content.pending.remove(at: index)
      return true
    }
    if wasPending { threads.async { execution.run {} } }
  }

  /// Cancels all executions and answers them: those that waited finish on their own, those that run when they heed it.
  func cancelAll() -> [ActionExecution] {
    let executions = content.withLock { $0.pending + $0.running }
    for execution in executions { execution.cancel() }
    return executions
  }

  func cancelPending() {
    for execution in content.withLock({ $0.pending }) { execution.cancel() }
  }

  private func startNext() {
    let ready = content.withLock { content in
      guard !content.isSuspended else { return [ActionExecution]() }
      let count = min(width - content.running.count, content.pending.count)
      let ready = Array(content.pending.prefix(count))
      content.pending.removeFirst(count)
      content.running += ready
      return ready
    }
    for execution in ready {
      threads.async {
        execution.run {
          self.content.withLock { $0.running.removeAll { $0 === execution } }
          self.startNext()
        }
      }
    }
  }
}
