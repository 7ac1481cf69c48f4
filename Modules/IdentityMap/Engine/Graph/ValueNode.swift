/// A node whose value can be read.
@usableFromInline
class ValueNode<Value: Sendable>: Node {
  /// The value, up to date. Under the lock, or for a readable node in a shared read.
  // Unreachable: only subclasses are instantiated, and each overrides `read`.
  @usableFromInline func read() -> Value { fatalError("A node has a value.") }
}

extension ValueNode {
  /// The current value. Takes the lock unless a shared read suffices.
  final var current: Value {
    if let reading = core.beginReading() {
      let value: Value? = isReadable ? .some(read()) : nil
      core.endReading(reading)
      if let value { return value }
    }
    return core.exclusively {
      let value = read()
      core.noteRead(of: .passUnretained(self))
      return value
    }
  }
}
