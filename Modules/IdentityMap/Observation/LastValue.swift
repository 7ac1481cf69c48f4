import Synchronization

/// The last delivered value.
final class LastValue<Value: Sendable>: Sendable {
  private let value = Mutex<Value?>(nil)

  /// - Returns: The value before.
  func replace(with newValue: Value) -> Value? {
    value.withLock { value in
      defer { value = newValue }
      return value
    }
  }

  /// - Returns: The new value when it is another one.
  func update(_ newValue: Value) -> Value? where Value: Equatable {
    replace(with: newValue) == newValue ? nil : newValue
  }
}
