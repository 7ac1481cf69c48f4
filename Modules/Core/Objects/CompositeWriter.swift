/// Collects the parts of a composite, in the order of ``CompositeValue/compositeParts``. To be used within
/// ``CompositeValue/write(to:)``.
public struct CompositeWriter {
  /// The parts written so far.
  private(set) var values: [AttributeValue] = []

  init() {}

  /// Writes the next part.
  public mutating func write<Value: AttributeConvertible>(_ value: Value) { values.append(value.attributeValue) }

  /// Writes a nested composite as the next parts.
  public mutating func write<Value: CompositeValue>(_ value: Value) { value.write(to: &self) }

  /// Writes missing parts.
  mutating func writeMissing(_ count: Int) { values += Array(repeating: .null, count: count) }
}
