/// A change of an entity, its removal included.
public enum EntityEvent<T: Sendable>: Sendable {
  /// The value is this one from now on.
  case value(T)
  /// The entity was removed. Another event follows when an entity of its identifier is stored.
  case removed
}

extension EntityEvent: Equatable where T: Equatable {}

extension EntityObserver where T: Identifiable {
  /// Calls a closure with the value that is current, before this returns, and from then on with each new one and with
  /// each removal, on a delivery. `observe(onChange:)` says nothing of a removal.
  ///
  /// An entity is removed by ``EntityStore/remove(_:id:)`` and ``EntityStore/removeAll()``, with an entity that it
  /// cannot be without, and by an ``OptimisticChange`` until that is taken back. A removal that is followed by a new
  /// value before it could be delivered is left out, as a replaced value is.
  /// - Parameters:
  ///   - delivery: Where the closure is called; on the store's delivery by default.
  ///   - onEvent: The first event is `removed` when the entity has been removed already.
  /// - Returns: What keeps the observer; it ends when this is released.
  public func observeEvents(
    on delivery: Delivery? = nil, onEvent: @escaping @Sendable (EntityEvent<T>) -> Void
  ) -> EntityStore.Subscription {
    node.observe(
      on: delivery.map { DeliveryQueue($0) } ?? node.core.queues.standard, keeping: handle,
      ObserverActions(onChange: { onEvent(.value($0)) }, onRemoval: { onEvent(.removed) }))
  }

  /// The value that is current, and from then on each new one and each removal; of those that come faster than they are
  /// taken, the newest. The sequence ends when the task that takes the events is cancelled or the store is cleared, and
  /// keeps the entity until then.
  public var events: AsyncStream<EntityEvent<T>> {
    AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      let subscription = node.observe(
        on: node.core.queues.immediate, keeping: handle,
        ObserverActions(
          onChange: { continuation.yield(.value($0)) }, onRemoval: { continuation.yield(.removed) },
          onEnd: { continuation.finish() }))
      continuation.onTermination = { _ in subscription.unsubscribe() }
    }
  }
}
