extension EntityStore {
  /// Stands for an observer: it is called as long as this exists, until it is unsubscribed or the store is cleared. The
  /// entity is kept as long as this exists.
  // Sendable because all of it is: the closures only do what the store does under its lock.
  public final class Subscription: @unchecked Sendable {
    /// Ends the observation. No call begins after this has returned, but for one that another thread had just begun.
    /// More than once does nothing.
    public let unsubscribe: () -> Void
    private let handle: AnyObject
    private let pauseObserver: () -> Void
    private let resumeObserver: () -> Void

    init(
      keeping handle: AnyObject, unsubscribe: @escaping () -> Void, pause: @escaping () -> Void,
      resume: @escaping () -> Void
    ) {
      self.handle = handle
      self.unsubscribe = unsubscribe
      pauseObserver = pause
      resumeObserver = resume
    }

    deinit {
      unsubscribe()
    }

    /// Has the observer called no more until ``resume()``.
    public func pause() {
      pauseObserver()
    }

    /// Continues the calls, with the newest value if the value changed during the pause.
    public func resume() {
      resumeObserver()
    }
  }
}
