/// The closures of one observer.
struct ObserverActions<Value: Sendable>: Sendable {
  let onChange: @Sendable (Value) -> Void
  /// Called when the entity is removed; `nil` for observers of values only.
  var onRemoval: (@Sendable () -> Void)?
  /// Called when the store ends the observation; see ``EntityStore/clear()``.
  var onEnd: (@Sendable () -> Void)?
}
