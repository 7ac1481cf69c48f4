// Observation is below the store. The public name of the subscription is nested in the store all the same, so this
// extension and the results of type `EntityStore.Subscription` are its only uses of the store.
extension EntityStore {
  /// An observation. It ends with the release of the subscription, with `unsubscribe`, or when the store is cleared.
  /// The subscription retains the entity.
  // Sendable because the closures only call operations of the store, which take its lock.
  public final class Subscription: @unchecked Sendable {
    /// Ends the observation. No call begins after this returns, except one that another thread had just begun. Further
    /// calls have no effect.
    public let unsubscribe: () -> Void
    private let handle: AnyObject
    private let pauseObserver: () -> Void
    private let resumeObserver: () -> Void

    init(
      retaining handle: AnyObject, unsubscribe: @escaping () -> Void, pause: @escaping () -> Void,
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

    /// Stops the calls of the observer until ``resume()``.
    public func pause() {
      pauseObserver()
    }

    /// Continues the calls, with the newest value if the value changed during the pause.
    public func resume() {
      resumeObserver()
    }
  }
}
