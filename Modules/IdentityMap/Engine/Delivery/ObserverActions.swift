/// The closures of one observer.
struct ObserverActions<Value: Sendable>: Sendable {
  let onChange: @Sendable (Value) -> Void
  /// Is called when the entity is removed; most observers hear nothing then.
  var onRemoval: (@Sendable () -> Void)?
  /// Is called when the store ends the observation; see ``EntityStore/clear()``.
  var onEnd: (@Sendable () -> Void)?
}
