import Foundation
import Synchronization

/// One submitted action, from its creation to its end. All of its state changes under one lock.
final class ActionExecution: ActionProxy {
  /// The execution that the current thread or task belongs to.
  @TaskLocal static var current: ActionExecution?

  let action: any Action
  private let work: ActionWork
  private let events: ActionEvents
  private let completion: (@Sendable (any ActionProxy) -> Void)?
  private let progress = Mutex(Progress())

  private struct Progress {
    var state = ActionState.created
    var status = ActionCompletionStatus.unknown
    var error: (any Error)?
    var statistics = ActionStatistics()
    var counter: ContextActivityCounter?
    var task: Task<Void, Never>?
    weak var queue: ActionQueue?
    var observers: [@Sendable () -> Void] = []
  }

  init(
    action: any Action, work: ActionWork, events: ActionEvents,
    completion: (@Sendable (any ActionProxy) -> Void)?
  ) {
    self.action = action
    self.work = work
    self.events = events
    self.completion = completion
  }

  // MARK: What is known

  var state: ActionState { progress.withLock { $0.state } }
  var completionStatus: ActionCompletionStatus { progress.withLock { $0.status } }
  var error: (any Error)? { progress.withLock { $0.error } }
  var statistics: ActionStatistics {
    progress.withLock { progress in
      var statistics = progress.statistics
      statistics.contextStatistics = progress.counter?.statistics
      return statistics
    }
  }
  var isCanceled: Bool { completionStatus == .canceled }

  /// Says where to find what the action does in its context.
  func count(with counter: ContextActivityCounter) { progress.withLock { $0.counter = counter } }

  // MARK: From the queue

  /// The execution waits in a queue from now on.
  func didEnter(_ queue: ActionQueue) {
    progress.withLock { progress in
      progress.queue = queue
      progress.state = .pending
    }
  }

  /// Runs the action, unless it was canceled, and calls `done` when it ended.
  func run(done: @escaping @Sendable () -> Void) {
    let mayRun = progress.withLock { progress in
      progress.state = .executing
      progress.statistics.startTime = Date()
      return progress.status != .canceled
    }
    events.didStart(self)
    guard mayRun else {
      finish(throwing: nil)
      return done()
    }
    switch work {
    case .blocking(let body):
      finish(throwing: Self.$current.withValue(self) { Self.error(of: { try body(self) }) })
      done()
    case .asynchronous(let body): start(body, done: done)
    }
  }

  private func start(
    _ body: @escaping @Sendable (ActionExecution) async throws -> Void, done: @escaping @Sendable () -> Void
  ) {
    let task = Self.$current.withValue(self) {
      Task {
        do {
          try await body(self)
          finish(throwing: nil)
        } catch {
          finish(throwing: error)
        }
        done()
      }
    }
    let isCanceled = progress.withLock { progress in
      if progress.state == .executing { progress.task = task }
      return progress.status == .canceled
    }
    if isCanceled { task.cancel() }
  }

  private static func error(of work: () throws -> Void) -> (any Error)? {
    do {
      try work()
      return nil
    } catch {
      return error
    }
  }

  private func finish(throwing error: (any Error)?) {
    let observers = progress.withLock { progress in
      progress.error = error
      if progress.status != .canceled { progress.status = error == nil ? .successful : .failed }
      progress.statistics.finishTime = Date()
      progress.state = .finished
      progress.task = nil
      defer { progress.observers = [] }
      return progress.observers
    }
    events.didFinish(self, completion: completion)
    for observer in observers { observer() }
  }

  // MARK: From outside

  func cancel() {
    let (isNews, task, queue) = progress.withLock { progress in
      guard progress.state != .finished, progress.status != .canceled else {
        return (false, nil as Task<Void, Never>?, nil as ActionQueue?)
      }
      progress.status = .canceled
      return (true, progress.task, progress.queue)
    }
    guard isNews else { return }
    action.cancel()
    task?.cancel()
    queue?.withdraw(self)
  }

  /// Calls a block once the action finished: at once, if it did already.
  func whenFinished(_ block: @escaping @Sendable () -> Void) {
    let isFinished = progress.withLock { progress in
      if progress.state != .finished { progress.observers.append(block) }
      return progress.state == .finished
    }
    if isFinished { block() }
  }

  func waitUntilFinished() async {
    await withCheckedContinuation { continuation in whenFinished { continuation.resume() } }
  }
}
