/// Takes the values of a snapshot, in the order of ``EntitySnapshot/fields``. To be used within
/// ``EntitySnapshot/write(to:)``.
public struct SnapshotWriter {
  /// The values written so far.
  private(set) var values: [AttributeValue] = []
  /// The `codable` values by the indices of their texts.
  private var coded: [Int: Any] = [:]
  /// The first value that could not be encoded.
  private(set) var failure: CoherenceError?

  init() {}

  /// Writes the value of the next field, an attribute.
  public mutating func write<Value: AttributeConvertible>(_ value: Value) { values.append(value.attributeValue) }

  /// Writes the value of the next field, a to-one relationship.
  public mutating func write(_ target: ManagedObjectID?) {
    values.append(target.map(AttributeValue.reference) ?? .null)
  }

  /// Writes the value of the next field, a composite.
  public mutating func write<Value: CompositeValue>(_ value: Value) {
    var parts = CompositeWriter()
    value.write(to: &parts)
    values += parts.values
  }

  /// Writes the value of the next field, a `codable` attribute. With a value that does not encode, the insert or the
  /// application of the snapshot throws.
  public mutating func write<Value>(_ value: Value, codable key: CodableKey<Value>) {
    coded[values.count] = value
    do {
      values.append(try JSONText.attributeValue(of: value))
    } catch {
      // The values have no reader after a failure.
      failure =
        failure
        ?? CoherenceError(
          .wrongType, "The value of '\(key.name)' in the snapshot cannot be encoded; see the underlying error.",
          underlying: error)
    }
  }

  /// Whether the value at an index equals the value of another snapshot.
  func hasSameValue(as other: SnapshotWriter, at index: Int) -> Bool {
    if values[index] == other.values[index] { return true }
    // Equal sets have different texts, because a set has no order.
    guard let value = coded[index] as? any Equatable, let otherValue = other.coded[index] else { return false }
    return value.isEqual(to: otherValue)
  }
}

extension Equatable {
  fileprivate func isEqual(to other: Any) -> Bool { self == other as? Self }
}
