/// A change of an entity, its removal included.
public enum EntityEvent<T: Sendable>: Sendable {
  /// The entity has a new value.
  case value(T)
  /// The entity was removed. Another event follows when an entity of its identifier is stored.
  case removed
}

extension EntityEvent: Equatable where T: Equatable {}

extension EntityObserver where T: Identifiable {
  /// Calls a closure with the current value before this returns, and then on a delivery with each new value and each
  /// removal. `observe(onChange:)` does not report removals.
  ///
  /// An entity is removed by ``EntityStore/remove(_:id:)`` and ``EntityStore/removeAll()``, together with an entity
  /// that it requires, and by an ``OptimisticChange`` until its rollback. A removal is skipped when a new value
  /// follows before its delivery.
  /// - Parameters:
  ///   - delivery: The delivery on which the closure is called; by default the store's.
  ///   - onEvent: The first event is `removed` when the entity has been removed already.
  /// - Returns: The subscription; releasing it ends the observation.
  public func observeEvents(
    on delivery: Delivery? = nil, onEvent: @escaping @Sendable (EntityEvent<T>) -> Void
  ) -> EntityStore.Subscription {
    node.observe(
      on: delivery.map { DeliveryQueue($0) } ?? node.core.queues.standard, retaining: handle,
      ObserverActions(onChange: { onEvent(.value($0)) }, onRemoval: { onEvent(.removed) }))
  }

  /// The current value, and then each new value and each removal; a slow consumer gets the newest only. The sequence
  /// retains the entity, and ends when its task is cancelled or the store is cleared.
  public var events: AsyncStream<EntityEvent<T>> {
    AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      let subscription = node.observe(
        on: node.core.queues.immediate, retaining: handle,
        ObserverActions(
          onChange: { continuation.yield(.value($0)) }, onRemoval: { continuation.yield(.removed) },
          onEnd: { continuation.finish() }))
      continuation.onTermination = { _ in subscription.unsubscribe() }
    }
  }
}
