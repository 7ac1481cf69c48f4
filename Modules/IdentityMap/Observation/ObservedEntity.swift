public import Observation
import Synchronization

/// An entity, a list or an alias for frameworks that track what they read: whoever reads ``value`` where Observation
/// tracks it (a view, `withObservationTracking`, `Observations`) hears of the next change.
///
/// ```swift
/// let user = store.find(named: .currentUser).observed()
/// Text(user.value?.name ?? "Guest")
/// ```
public final class ObservedEntity<T: Sendable>: Observable, Sendable {
  private let registrar = ObservationRegistrar()
  private let current: Mutex<T>
  private let subscription = Mutex<EntityStore.Subscription?>(nil)

  fileprivate init(_ observer: EntityObserver<T>, on delivery: Delivery?) {
    current = Mutex(observer.value)
    let onChange: @Sendable (T) -> Void = { [weak self] in self?.set($0) }
    let made = delivery.map { observer.observe(on: $0, onChange: onChange) } ?? observer.observe(onChange: onChange)
    subscription.withLock { $0 = made }
  }

  /// The value, as of the last delivery.
  public var value: T {
    registrar.access(self, keyPath: \.value)
    return current.withLock { $0 }
  }

  private func set(_ value: T) {
    registrar.withMutation(of: self, keyPath: \.value) {
      // What there was goes when the lock is free: at the end of an object in it somebody may read.
      let former = current.withLock { exchange(&$0, with: value) }
      withExtendedLifetime(former) {}
    }
  }
}

extension EntityObserver {
  /// An object for frameworks that track what they read.
  /// - Parameter delivery: Where it changes; on the store's delivery by default. Views want `.main`.
  public func observed(on delivery: Delivery? = nil) -> ObservedEntity<T> {
    ObservedEntity(self, on: delivery)
  }
}
