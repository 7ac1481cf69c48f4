import Dispatch
import Foundation
import Logging
import Synchronization

/// Tells the world of executions: the log, the notification center, and completion blocks, in that order.
final class ActionEvents: Sendable {
  private let logger: Logger
  private let queue = DispatchQueue(label: "connect.queue.notification")
  private let source = Mutex(Source())

  private struct Source { weak var object: (any AnyObject & Sendable)? }

  init(logger: Logger) { self.logger = logger }

  /// Says who notifications come from. It is not kept.
  func setSource(_ object: any AnyObject & Sendable) { source.withLock { $0.object = object } }

  func didStart(_ execution: ActionExecution) {
    logger.info("Action started.", metadata: ["action": "\(type(of: execution.action))"])
    queue.async { self.post(Notification.ActionDidStartExecuting, execution) }
  }

  func didFinish(_ execution: ActionExecution, completion: (@Sendable (any ActionProxy) -> Void)?) {
    log(execution)
    queue.async {
      self.post(Notification.ActionDidFinishExecuting, execution)
      if let completion { DispatchQueue.global().async { completion(execution) } }
    }
  }

  private func log(_ execution: ActionExecution) {
    let name = "\(type(of: execution.action))"
    if let error = execution.error {
      logger.error("Action threw an error.", metadata: ["action": "\(name)", "error": "\(error)"])
    }
    logger.info(
      "Action \(execution.completionStatus).",
      metadata: ["action": "\(name)", "statistics": "\(execution.statistics)"])
  }

  private func post(_ name: Notification.Name, _ execution: ActionExecution) {
    let object = source.withLock { $0.object }
    NotificationCenter.default.post(
      name: name, object: object, userInfo: [Notification.Key.ActionProxy: execution as any ActionProxy])
  }
}
