/// The stored parts of a composite, read in the order of ``CompositeValue/compositeParts``. To be used within
/// ``CompositeValue/init(reading:)``.
public struct CompositeReader {
  private let row: Row?
  /// The index of the next part and of its default: the slot in the row, or the index in the array.
  private var next: Int
  private let values: [AttributeValue]
  private let defaults: [AttributeValue]
  /// Whether a part that the reader, or the present call of ``readIfPresent(_:)``, has read so far has a value.
  private var hasRead = false

  /// Reads parts that follow each other in a row.
  ///
  /// - Parameter slot: The slot of the first part.
  init(_ row: Row, from slot: Int) {
    self.row = row
    next = slot
    values = []
    defaults = row.entity.defaultValues
  }

  /// Reads parts from an array.
  ///
  /// - Parameters:
  ///   - values: The parts in order; parts beyond the end of the array are missing.
  ///   - defaults: The values in place of missing required parts.
  init(_ values: [AttributeValue], defaults: [AttributeValue]) {
    row = nil
    next = 0
    self.values = values
    self.defaults = defaults
  }

  /// Reads the next part. A missing part of a required type reads as the model's default, or else as the type's
  /// default.
  public mutating func read<Value: AttributeConvertible>(_ type: Value.Type = Value.self) -> Value {
    read(type, default: Value.attributeDefault)
  }

  /// Reads the next part, with a default of the composite's own. A missing part of a required type reads as the model's
  /// default, or else as the given value.
  public mutating func read<Value: AttributeConvertible>(
    _ type: Value.Type = Value.self, default defaultValue: @autoclosure () -> Value
  ) -> Value {
    let index = next
    next += 1
    let value = value(at: index)
    if !value.isNull { hasRead = true }
    if let result = Value(attributeValue: value) { return result }
    return (index < defaults.count ? Value(attributeValue: defaults[index]) : nil) ?? defaultValue()
  }

  /// Reads a nested composite from the next parts, with a default. If all parts are missing, the result has the model's
  /// defaults, or is the given value if the model has none.
  public mutating func read<Value: CompositeValue>(
    _ type: Value.Type = Value.self, default defaultValue: @autoclosure () -> Value
  ) -> Value {
    let first = next
    if let value = readIfPresent(type) { return value }
    let hasDefaults = (first..<next).contains { $0 < defaults.count && !defaults[$0].isNull }
    guard hasDefaults else { return defaultValue() }
    // The missing parts read as the model's defaults in the second reading.
    next = first
    return Value(reading: &self)
  }

  /// Reads an optional nested composite from the next parts; `nil` when all parts are missing.
  ///
  /// - Parameter defaultValue: The value in new objects. It does not replace a missing composite.
  public mutating func read<Value: CompositeValue>(
    _ type: Value?.Type = Value?.self, default defaultValue: @autoclosure () -> Value?
  ) -> Value? {
    readIfPresent(Value.self)
  }

  /// Reads a nested composite from the next parts.
  public mutating func read<Value: CompositeValue>(_ type: Value.Type = Value.self) -> Value {
    Value(reading: &self)
  }

  /// Reads a nested composite; `nil` when all parts are missing.
  mutating func readIfPresent<Value: CompositeValue>(_ type: Value.Type) -> Value? {
    // The parts before the nested composite do not count for it. Its own parts count for the composite around it.
    let hadRead = hasRead
    hasRead = false
    defer { hasRead = hasRead || hadRead }
    let value = Value(reading: &self)
    return hasRead ? value : nil
  }

  /// The stored value of a part; null for a part beyond the end, of a row or an array from an earlier type.
  private func value(at index: Int) -> AttributeValue {
    if let row { return index < row.count ? row[index] : .null }
    return index < values.count ? values[index] : .null
  }
}
