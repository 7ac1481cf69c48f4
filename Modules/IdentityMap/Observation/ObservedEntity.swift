public import Observation
import Synchronization

/// An entity, a list or an alias for frameworks with observation tracking: a reader of ``value`` that Observation
/// tracks (a view, `withObservationTracking`, `Observations`) is notified of the next change.
///
/// ```swift
/// let user = store.find(named: .currentUser).observed(on: .main)
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
      // The former value is released without the lock: the `deinit` of an object in it may read this one.
      let former = current.withLock { exchange(&$0, with: value) }
      withExtendedLifetime(former) {}
    }
  }
}

extension EntityObserver {
  /// Makes an observable object of the entity, for frameworks that track the properties that they read.
  /// - Parameter delivery: The delivery on which the object changes; by default the store's. Views need `.main`.
  public func observed(on delivery: Delivery? = nil) -> ObservedEntity<T> {
    ObservedEntity(self, on: delivery)
  }
}
