import CoherenceActions
import Synchronization

/// A place where an action waits until a test lets it go on, or until its task is cancelled.
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

/// How an action ended that nobody else can ask.
final class WishOutcome: Sendable {
  private let stored = Mutex(ActionCompletionStatus.unknown)

  var status: ActionCompletionStatus {
    get { stored.withLock { $0 } }
    set { stored.withLock { $0 = newValue } }
  }
}
