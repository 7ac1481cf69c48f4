import CoherenceActions
import Synchronization

/// A gate that blocks an action until a test opens it or the action's task is cancelled.
final class ServiceGate: Sendable {
  private let reached = AsyncStream<Void>.makeStream()
  private let opened = AsyncStream<Void>.makeStream()

  func reach() { reached.continuation.finish() }
  func open() { opened.continuation.finish() }
  func waitUntilReached() async { for await _ in reached.stream {} }

  func pass() async {
    reach()
    for await _ in opened.stream {}
  }
}

/// Reports the end of an action whose handle is not available.
final class SubmissionOutcome: Sendable {
  private let stored = Mutex(ActionCompletionStatus.unknown)

  var status: ActionCompletionStatus {
    get { stored.withLock { $0 } }
    set { stored.withLock { $0 = newValue } }
  }
}
