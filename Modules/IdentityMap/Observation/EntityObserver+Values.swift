extension EntityObserver {
  /// The current value, and then each new value; a slow consumer gets the newest only. The sequence retains the
  /// entity, and ends when its task is cancelled or the store is cleared.
  public var values: AsyncStream<T> {
    AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      // The thread that ends the transaction only adds the value to the stream.
      let subscription = node.observe(
        on: node.core.queues.immediate, retaining: handle,
        ObserverActions(onChange: { continuation.yield($0) }, onEnd: { continuation.finish() }))
      continuation.onTermination = { _ in subscription.unsubscribe() }
    }
  }

  /// Calls a closure with a field of the value, before this returns, and then with each new value of the field.
  /// Changes of other fields cause no call.
  public func observe<V: Equatable & Sendable>(
    _ field: any KeyPath<T, V> & Sendable, onChange: @escaping @Sendable (V) -> Void
  ) -> EntityStore.Subscription {
    let last = LastValue<V>()
    return observe { value in
      if let changed = last.update(value[keyPath: field]) { onChange(changed) }
    }
  }
}

extension EntityObserver {
  /// Calls a closure with the list, before this call returns, and later with each new list. Each call has the
  /// difference from the previous list. The first call has the difference from an empty list: every entity is an
  /// insertion.
  public func observeChanges<E: Identifiable & Sendable>(
    onChange: @escaping @Sendable (ListChange<E>) -> Void
  ) -> EntityStore.Subscription where T == [E], E.ID: Sendable {
    let last = LastValue<[E]>()
    let core = node.core
    return observe { list in
      let former = last.replace(with: list) ?? []
      onChange(ListChange(from: former, to: list, areEqual: core.equality(of: E.self)))
    }
  }
}
