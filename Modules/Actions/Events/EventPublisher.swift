import CoherenceCore
import Dispatch
import Foundation
import Logging
import Synchronization

/// Publishes the events of a Connect, in order: to the log, the event streams, the notification center and the completion
/// blocks.
///
/// Observers of notifications are called one after the other on the publisher's queue. Completion blocks are called on a
/// queue of their own, so that a blocked completion block delays neither events nor actions.
///
/// May be used from any thread. Publishing an event never waits for its delivery.
final class EventPublisher: Sendable {
  private let logger: Logger
  private let queue = DispatchQueue(label: "connect.queue.notification")
  private let completionBlocks: CallbackQueue
  private let sender = Mutex(Sender())
  private let undelivered = Mutex(Undelivered())
  private let streams = Broadcast<ConnectEvent>()

  private struct Sender { weak var object: (any AnyObject & Sendable)? }

  /// Events that wait for delivery. They are delivered in batches: a change of threads costs more than an event.
  private struct Undelivered {
    var entries: [Entry] = []
    /// Whether a delivery is scheduled or running.
    var isScheduled = false
  }

  private struct Entry {
    let event: ConnectEvent
    var completions: [ActionCompletion] = []
  }

  /// - Parameter maximumBlocked: The maximum number of blocked completion blocks before further blocks wait.
  init(logger: Logger, maximumBlockedCompletions maximumBlocked: Int) {
    self.logger = logger
    completionBlocks = CallbackQueue(name: "connect.queue.completion", width: maximumBlocked)
  }

  /// Sets the object of the notifications. The publisher does not retain the object.
  func setSender(_ object: any AnyObject & Sendable) { sender.withLock { $0.object = object } }

  // MARK: Events

  func didStart(_ handle: AnyActionHandle) {
    logger.debug("Action started.", metadata: ["action": "\(type(of: handle.action))"])
    send(Entry(event: .actionStarted(handle)))
  }

  func willRetry(_ handle: AnyActionHandle, attempt: Int, delay: Duration) {
    logger.info(
      "Action is tried again.",
      metadata: ["action": "\(type(of: handle.action))", "attempt": "\(attempt)", "delay": "\(delay)"])
    send(Entry(event: .actionWillRetry(handle, attempt: attempt, delay: delay)))
  }

  func didFinish(_ handle: AnyActionHandle, completions: [ActionCompletion]) {
    if logger.logLevel <= .error { log(handle) }
    send(Entry(event: .actionFinished(handle), completions: completions))
  }

  /// Logs that an action has succeeded without saving all changes of its context. The changes are lost.
  func didLeaveUnsavedChanges(_ handle: AnyActionHandle) {
    logger.warning(
      """
      The action has ended with changes in its context that it has not saved, and they are lost. Call `save()` in the \
      action, or `rollback()` where the changes are not wanted.
      """,
      metadata: ["action": "\(type(of: handle.action))"])
  }

  func didChange(_ state: ConnectState) { send(Entry(event: .stateChanged(state))) }

  /// Publishes an event of work beside the actions, such as a refresh. The event is not made if no stream is in use.
  func workAdvanced(_ makeEvent: () -> any ConnectWorkEvent) {
    if streams.isInUse { send(Entry(event: .work(makeEvent()))) }
  }

  /// Finishes the streams after the events so far. The Connect is released.
  func finish() {
    queue.async { self.streams.finish() }
  }

  private func log(_ handle: AnyActionHandle) {
    let name = "\(type(of: handle.action))"
    if let error = handle.error, !isRequestedEnd(error, of: handle) {
      logger.error("Action threw an error.", metadata: ["action": "\(name)", "error": "\(error.logText)"])
    }
    logger.debug(
      "Action \(handle.completionStatus).",
      metadata: ["action": "\(name)", "statistics": "\(handle.statistics.summary)"])
  }

  /// Whether an error reports only that a submitter has replaced or cancelled the action.
  private func isRequestedEnd(_ error: any Error, of handle: AnyActionHandle) -> Bool {
    if ErrorCode.actionReplaced ~= error { return true }
    return handle.completionStatus == .canceled && (error is CancellationError || ErrorCode.cancelled ~= error)
  }

  // MARK: Delivery

  /// A stream of the events from now on.
  func stream(_ policy: AsyncStream<ConnectEvent>.Continuation.BufferingPolicy) -> AsyncStream<ConnectEvent> {
    streams.makeStream(policy)
  }

  private func send(_ entry: Entry) {
    let needsDelivery = undelivered.withLock { undelivered in
      undelivered.entries.append(entry)
      defer { undelivered.isScheduled = true }
      return !undelivered.isScheduled
    }
    if needsDelivery { queue.async { self.deliver() } }
  }

  /// Delivers events until none waits. Runs on the publisher's queue.
  private func deliver() {
    while true {
      let entries = undelivered.withLock { undelivered in
        defer { undelivered.entries = [] }
        undelivered.isScheduled = !undelivered.entries.isEmpty
        return undelivered.entries
      }
      if entries.isEmpty { return }
      var info = NotificationInfo()
      for entry in entries { deliver(entry, &info) }
    }
  }

  private func deliver(_ entry: Entry, _ info: inout NotificationInfo) {
    streams.send { entry.event }
    switch entry.event {
    case .actionStarted(let proxy): post(Notification.ActionDidStartExecuting, info.userInfo(for: proxy))
    case .actionFinished(let proxy):
      post(Notification.ActionDidFinishExecuting, info.userInfo(for: proxy))
      let completions = entry.completions
      if !completions.isEmpty { completionBlocks.add { for completion in completions { completion(proxy) } } }
    case .stateChanged, .actionWillRetry, .work: break
    }
  }

  private func post(_ name: Notification.Name, _ userInfo: [AnyHashable: Any]) {
    NotificationCenter.default.post(name: name, object: sender.withLock { $0.object }, userInfo: userInfo)
  }

  /// The `userInfo` of notifications. The end of an action often follows its start directly, and reuses the dictionary.
  private struct NotificationInfo {
    private var latest: (proxy: any ActionProxy, userInfo: [AnyHashable: Any])?

    mutating func userInfo(for proxy: any ActionProxy) -> [AnyHashable: Any] {
      if let latest, latest.proxy === proxy { return latest.userInfo }
      let userInfo: [AnyHashable: Any] = [Notification.Key.ActionProxy: proxy]
      latest = (proxy, userInfo)
      return userInfo
    }
  }
}
