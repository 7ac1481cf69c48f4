// The snapshots of an entity with an unsupported property compile, so that the accessor alone has an error.

extension SnapshotField {
  /// Stands in for the field of a property that the model cannot store.
  public init<Reason, Value>(_ key: UnsupportedKey<Reason, Value>) { self.init(AttributeKey<String>("")) }
}

extension SnapshotReader {
  /// Returns a stand-in.
  public mutating func read(_ type: UnsupportedValue.Type = UnsupportedValue.self) -> UnsupportedValue {
    UnsupportedValue()
  }
}

extension SnapshotWriter {
  /// Writes nothing.
  public mutating func write(_ value: UnsupportedValue) {}
}

extension SnapshotDecoder {
  /// Returns a stand-in.
  public func decode<Reason, Value>(_ key: UnsupportedKey<Reason, Value>) throws -> UnsupportedValue {
    UnsupportedValue()
  }
}

extension SnapshotEncoder {
  /// Writes nothing.
  public mutating func encode<Reason, Value>(_ value: UnsupportedValue, _ key: UnsupportedKey<Reason, Value>) throws {}
}
