import Synchronization

/// The last delivered value.
final class LastValue<Value: Sendable>: Sendable {
  private let value = Mutex<Value?>(nil)

  /// Replaces the value.
  ///
  /// - Returns: The former value.
  func replace(with newValue: Value) -> Value? {
    value.withLock { value in
      defer { value = newValue }
      return value
    }
  }

  /// Replaces the value by a different value.
  ///
  /// - Returns: The new value; `nil` if it equals the former value.
  func update(_ newValue: Value) -> Value? where Value: Equatable {
    replace(with: newValue) == newValue ? nil : newValue
  }
}
