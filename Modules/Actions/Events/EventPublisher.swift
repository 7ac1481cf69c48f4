import CoherenceCore
import Dispatch
import Foundation
import Logging
import Synchronization

/// Publishes events of actions to the log, the event streams, the notification center, and completion blocks, in order.
///
/// Observers of notifications are called on the queue of the events, one after the other. Completion blocks are handed to
/// a queue of their own, so that one that blocks delays neither events nor actions.
final class ActionEvents: Sendable {
  private let logger: Logger
  private let queue = DispatchQueue(label: "connect.queue.notification")
  private let completionBlocks: CallbackQueue
  private let source = Mutex(Source())
  private let outbox = Mutex(Outbox())
  private let streams = Mutex(Streams())

  private struct Source { weak var object: (any AnyObject & Sendable)? }

  /// The events still to be published. They are sent in batches: a change of threads costs more than an event.
  private struct Outbox {
    var entries: [Entry] = []
    var isOnItsWay = false
  }

  private struct Entry {
    let event: ConnectEvent
    var completions: [ActionSubmission.Completion] = []
  }

  private struct Streams {
    var isOver = false
    var next = 0
    var all: [Int: AsyncStream<ConnectEvent>.Continuation] = [:]
  }

  /// - Parameter width: How many completion blocks may be blocked at once.
  init(logger: Logger, completionBlocks width: Int) {
    self.logger = logger
    completionBlocks = CallbackQueue(name: "connect.queue.completion", width: width)
  }

  /// Says who notifications come from. It is not kept.
  func setSource(_ object: any AnyObject & Sendable) { source.withLock { $0.object = object } }

  // MARK: What happens

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

  func didFinish(_ handle: AnyActionHandle, completions: [ActionSubmission.Completion]) {
    if logger.logLevel <= .error { log(handle) }
    send(Entry(event: .actionFinished(handle), completions: completions))
  }

  /// The action has succeeded, and what it changed in its context and did not save is lost.
  func didLeaveChanges(_ handle: AnyActionHandle) {
    logger.warning(
      """
      The action has ended with changes in its context that it has not saved, and they are lost. Call `save()` in the \
      action, or `rollback()` where the changes are not wanted.
      """,
      metadata: ["action": "\(type(of: handle.action))"])
  }

  func didChange(_ state: ConnectState) { send(Entry(event: .stateChanged(state))) }

  /// The Connect is released: the remaining events have no listeners.
  func end() {
    queue.async {
      let all = self.streams.withLock { streams in
        streams.isOver = true
        defer { streams.all = [:] }
        return streams.all
      }
      for stream in all.values { stream.finish() }
    }
  }

  private func log(_ handle: AnyActionHandle) {
    let name = "\(type(of: handle.action))"
    // An action that is replaced as its submitter wishes has not failed.
    if let error = handle.error, !(ErrorCode.actionReplaced ~= error) {
      logger.error("Action threw an error.", metadata: ["action": "\(name)", "error": "\(error.logText)"])
    }
    logger.debug(
      "Action \(handle.completionStatus).",
      metadata: ["action": "\(name)", "statistics": "\(handle.statistics.summary)"])
  }

  // MARK: Who hears of it

  /// What happens from now on.
  func stream(_ policy: AsyncStream<ConnectEvent>.Continuation.BufferingPolicy) -> AsyncStream<ConnectEvent> {
    AsyncStream(bufferingPolicy: policy) { continuation in
      let place = streams.withLock { streams in
        guard !streams.isOver else { return nil as Int? }
        defer { streams.next += 1 }
        streams.all[streams.next] = continuation
        return streams.next
      }
      guard let place else { return continuation.finish() }
      continuation.onTermination = { [weak self] _ in
        _ = self?.streams.withLock { $0.all.removeValue(forKey: place) }
      }
    }
  }

  private func send(_ entry: Entry) {
    let isFirst = outbox.withLock { outbox in
      outbox.entries.append(entry)
      defer { outbox.isOnItsWay = true }
      return !outbox.isOnItsWay
    }
    if isFirst { queue.async { self.deliver() } }
  }

  private func deliver() {
    while true {
      let entries = outbox.withLock { outbox in
        defer { outbox.entries = [] }
        outbox.isOnItsWay = !outbox.entries.isEmpty
        return outbox.entries
      }
      if entries.isEmpty { return }
      var info = NotificationInfo()
      for entry in entries { deliver(entry, &info) }
    }
  }

  private func deliver(_ entry: Entry, _ info: inout NotificationInfo) {
    for stream in streams.withLock({ $0.all }).values { stream.yield(entry.event) }
    switch entry.event {
    case .actionStarted(let proxy): post(Notification.ActionDidStartExecuting, info.about(proxy))
    case .actionFinished(let proxy):
      post(Notification.ActionDidFinishExecuting, info.about(proxy))
      let completions = entry.completions
      if !completions.isEmpty { completionBlocks.add { for completion in completions { completion(proxy) } } }
    case .stateChanged, .actionWillRetry: break
    }
  }

  private func post(_ name: Notification.Name, _ userInfo: [AnyHashable: Any]) {
    NotificationCenter.default.post(name: name, object: source.withLock { $0.object }, userInfo: userInfo)
  }

  /// The contents of notifications. The end of an action often follows its beginning directly, with the same contents.
  private struct NotificationInfo {
    private var latest: (proxy: any ActionProxy, userInfo: [AnyHashable: Any])?

    mutating func about(_ proxy: any ActionProxy) -> [AnyHashable: Any] {
      if let latest, latest.proxy === proxy { return latest.userInfo }
      let userInfo: [AnyHashable: Any] = [Notification.Key.ActionProxy: proxy]
      latest = (proxy, userInfo)
      return userInfo
    }
  }
}
