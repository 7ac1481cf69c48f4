import Foundation
import Synchronization

/// The progress of an action: `Foundation.Progress`, which on Linux has no lock of its own, behind one.
final class SharedProgress: Progress, @unchecked Sendable {
  // Sendable: what the base class stores is read and written under the lock, and the list of listeners is behind a mutex.
  // The lock is recursive because the base class notifies observers, which may look, while it is held.

  private let onCancel: @Sendable () -> Void
  private let lock = NSRecursiveLock()
  private let listeners = Mutex(Listeners())

  private struct Listeners {
    var isOver = false
    var next = 0
    var all: [Int: AsyncStream<ActionProgress>.Continuation] = [:]
  }

  /// - Parameters:
  ///   - onCancel: Called, without the lock, when the progress is canceled.
  init(of life: ActionLife, onCancel: @escaping @Sendable () -> Void) {
    self.onCancel = onCancel
    super.init(parent: nil, userInfo: nil)
    isCancellable = true
    listeners.withLock { $0.isOver = life.state == .finished }
    if life.status == .canceled { super.cancel() }
  }

  override var totalUnitCount: Int64 {
    get { lock.withLock { super.totalUnitCount } }
    set {
      lock.withLock { super.totalUnitCount = newValue }
      tell()
    }
  }

  override var completedUnitCount: Int64 {
    get { lock.withLock { super.completedUnitCount } }
    set {
      lock.withLock { super.completedUnitCount = newValue }
      tell()
    }
  }

  override var isIndeterminate: Bool { lock.withLock { super.isIndeterminate } }

  override func cancel() {
    // The handler is code of the program and may block: without the lock, by which the action sets its progress. The
    // handler is not put back, because the base class calls a handler that a canceled progress is given.
    let handler = lock.withLock {
      let handler = super.cancellationHandler
      super.cancellationHandler = nil
      super.cancel()
      return handler
    }
    handler?()
    onCancel()
  }

  var now: ActionProgress {
    lock.withLock {
      ActionProgress(completedUnitCount: super.completedUnitCount, totalUnitCount: super.totalUnitCount)
    }
  }

  /// The state of now and those to come; slow listeners miss what lies between.
  func updates() -> AsyncStream<ActionProgress> {
    AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      let place = lock.withLock {
        continuation.yield(now)
        return listeners.withLock { listeners in
          guard !listeners.isOver else { return nil as Int? }
          defer { listeners.next += 1 }
          listeners.all[listeners.next] = continuation
          return listeners.next
        }
      }
      guard let place else { return continuation.finish() }
      continuation.onTermination = { [weak self] _ in
        _ = self?.listeners.withLock { $0.all.removeValue(forKey: place) }
      }
    }
  }

  /// Nothing changes any more.
  func end() {
    let all = listeners.withLock { listeners in
      listeners.isOver = true
      defer { listeners.all = [:] }
      return listeners.all
    }
    for listener in all.values { listener.finish() }
  }

  /// Under the lock, so that of two changes at once listeners receive the later one last.
  private func tell() {
    lock.withLock {
      let all = listeners.withLock { Array($0.all.values) }
      guard !all.isEmpty else { return }
      let now = now
      for listener in all { listener.yield(now) }
    }
  }
}
