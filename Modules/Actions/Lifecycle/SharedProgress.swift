import CoherenceCore
import Foundation

/// The progress of an action: `Foundation.Progress` behind a lock, because the class has no lock of its own on Linux. The
/// program may use it from any thread, and cancel the action by it.
final class SharedProgress: Progress, @unchecked Sendable {
  // Sendable: the counts, the cancellation and its handler are read and written under the lock, and the streams have a
  // lock of their own. `isCancelled` and `fractionCompleted`, which a subclass cannot override on all platforms, are
  // written under the lock and read without it: a reader may see the value before a change. The lock is recursive
  // because the base class notifies observers under it, and an observer may read the progress.

  private let cancelAction: @Sendable () -> Void
  private let lock = NSRecursiveLock()
  private let streams = Broadcast<ActionProgress>()
  /// Whether the progress itself was cancelled, and its handler called. `isCancelled` is also set by the cancellation of
  /// a parent.
  private var wasCanceled = false

  /// - Parameters:
  ///   - state: The present state of the action.
  ///   - isCanceled: Whether the action is cancelled already, or its timeout has passed.
  ///   - cancelAction: Cancels the action. Called by ``cancel()``, without the lock.
  init(state: ActionState, isCanceled: Bool, cancelAction: @escaping @Sendable () -> Void) {
    self.cancelAction = cancelAction
    super.init(parent: nil, userInfo: nil)
    isCancellable = true
    if state == .finished { streams.finish() }
    if isCanceled {
      wasCanceled = true
      super.cancel()
    }
  }

  override var totalUnitCount: Int64 {
    get { lock.withLock { super.totalUnitCount } }
    set {
      lock.withLock { super.totalUnitCount = newValue }
      yield()
    }
  }

  override var completedUnitCount: Int64 {
    get { lock.withLock { super.completedUnitCount } }
    set {
      lock.withLock { super.completedUnitCount = newValue }
      yield()
    }
  }

  override var isIndeterminate: Bool { lock.withLock { super.isIndeterminate } }

  /// Called once, at the cancellation. The base class calls a handler that the program sets after the cancellation.
  override var cancellationHandler: (@Sendable () -> Void)? {
    get { lock.withLock { super.cancellationHandler } }
    set { lock.withLock { super.cancellationHandler = newValue } }
  }

  /// Cancels the progress and the action.
  override func cancel() {
    cancelOnlyProgress()
    cancelAction()
  }

  /// Cancels the progress of an action that is cancelled, or whose timeout has passed. After a timeout the action itself
  /// must not be cancelled: the cancellation would replace its error ``ErrorCode/timedOut``.
  func cancelOnlyProgress() {
    // The handler is code of the program and may block, so it is called without the lock, which the action needs to set
    // its progress. The base class has already called a handler set on a cancelled progress. The handler is not
    // restored, because the base class would call it again.
    let handler = lock.withLock {
      let handler = wasCanceled ? nil : super.cancellationHandler
      wasCanceled = true
      super.cancellationHandler = nil
      super.cancel()
      return handler
    }
    handler?()
  }

  /// The counts of one moment.
  var current: ActionProgress {
    lock.withLock {
      ActionProgress(completedUnitCount: super.completedUnitCount, totalUnitCount: super.totalUnitCount)
    }
  }

  /// Returns a stream of the present counts and of later changes. A slow reader receives only the latest counts.
  func updates() -> AsyncStream<ActionProgress> {
    lock.withLock { streams.makeStream(.bufferingNewest(1), first: current) }
  }

  /// Ends the streams. Called after the action has finished.
  func finish() { streams.finish() }

  /// Sends the counts to the streams. The lock is held, so that a stream receives the later of two changes last.
  private func yield() {
    lock.withLock { streams.send { current } }
  }
}
