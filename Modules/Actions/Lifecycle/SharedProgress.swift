import Foundation
import Synchronization

/// The progress of an action: `Foundation.Progress` behind a lock, because the class has no lock of its own on Linux.
final class SharedProgress: Progress, @unchecked Sendable {
  // Sendable: the stored properties of the base class are read and written under the lock, and the streams are behind a
  // mutex. The lock is recursive because the base class notifies observers under it, and an observer may read the
  // progress.

  private let onCancel: @Sendable () -> Void
  private let lock = NSRecursiveLock()
  private let streams = Mutex(Streams())

  private struct Streams {
    var isFinished = false
    var nextNumber = 0
    var all: [Int: AsyncStream<ActionProgress>.Continuation] = [:]
  }

  /// - Parameters:
  ///   - state: The present state of the action.
  ///   - isCanceled: Whether the action is canceled already.
  ///   - onCancel: Called without the lock when the progress is canceled.
  init(state: ActionState, isCanceled: Bool, onCancel: @escaping @Sendable () -> Void) {
    self.onCancel = onCancel
    super.init(parent: nil, userInfo: nil)
    isCancellable = true
    streams.withLock { $0.isFinished = state == .finished }
    if isCanceled { super.cancel() }
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

  override func cancel() {
    // The handler is code of the program and may block, so it is called without the lock, which the action needs to set
    // its progress. The handler is not restored: the base class calls a handler set on a canceled progress.
    let handler = lock.withLock {
      let handler = super.cancellationHandler
      super.cancellationHandler = nil
      super.cancel()
      return handler
    }
    handler?()
    onCancel()
  }

  /// The counts of one moment.
  var current: ActionProgress {
    lock.withLock {
      ActionProgress(completedUnitCount: super.completedUnitCount, totalUnitCount: super.totalUnitCount)
    }
  }

  /// A stream of the present counts and of later changes. A slow reader receives only the latest counts.
  func updates() -> AsyncStream<ActionProgress> {
    AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      let number = lock.withLock {
        continuation.yield(current)
        return streams.withLock { streams in
          guard !streams.isFinished else { return nil as Int? }
          defer { streams.nextNumber += 1 }
          streams.all[streams.nextNumber] = continuation
          return streams.nextNumber
        }
      }
      guard let number else { return continuation.finish() }
      continuation.onTermination = { [weak self] _ in
        _ = self?.streams.withLock { $0.all.removeValue(forKey: number) }
      }
    }
  }

  /// Finishes the streams. The action has finished.
  func finish() {
    let all = streams.withLock { streams in
      streams.isFinished = true
      defer { streams.all = [:] }
      return streams.all
    }
    for stream in all.values { stream.finish() }
  }

  /// Sends the counts to the streams. The lock is held, so that a stream receives the later of two changes last.
  private func yield() {
    lock.withLock {
      let all = streams.withLock { Array($0.all.values) }
      guard !all.isEmpty else { return }
      let current = current
      for stream in all { stream.yield(current) }
    }
  }
}
