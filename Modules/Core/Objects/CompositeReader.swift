/// The stored parts of a composite, read in the order of ``CompositeValue/compositeParts``. To be used within
/// ``CompositeValue/init(reading:)``.
public struct CompositeReader {
  private let row: Row?
  /// The slot of the next part in the row, or the index of its default.
  private var next: Int
  private let values: [AttributeValue]
  private let defaults: [AttributeValue]
  /// Whether a part read so far has a value.
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
  ///   - values: The parts in order; the parts behind the end of the array are missing.
  ///   - defaults: The values in place of missing required parts.
  init(_ values: [AttributeValue], defaults: [AttributeValue]) {
    row = nil
    next = 0
    self.values = values
    self.defaults = defaults
  }

  /// The value of the next part. A missing part of a required type is the model's default, or else the
  /// type's, as in all typed accessors.
  public mutating func read<Value: AttributeConvertible>(_ type: Value.Type = Value.self) -> Value {
    let index = next
    next += 1
    let value = value(at: index)
    if !value.isNull { hasRead = true }
    if let result = Value(attributeValue: value) { return result }
    return (index < defaults.count ? Value(attributeValue: defaults[index]) : nil) ?? Value.attributeDefault
  }

  /// The value of the next part, with a default of the type's own. A missing part of a required type is the model's
  /// default, or else the given value.
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

  /// The value of the next parts, which are a composite themselves, with a default. Missing parts of a required type are
  /// the model's defaults; the given value, when the model has none.
  public mutating func read<Value: CompositeValue>(
    _ type: Value.Type = Value.self, default defaultValue: @autoclosure () -> Value
  ) -> Value {
    let first = next
    if let value = readIfPresent(type) { return value }
    let hasDefaults = (first..<next).contains { $0 < defaults.count && !defaults[$0].isNull }
    guard hasDefaults else { return defaultValue() }
    next = first
    return Value(reading: &self)
  }

  /// The value of the next parts, which are an optional composite; `nil` when all of them are missing.
  ///
  /// - Parameter defaultValue: The value in new objects. A missing composite is `nil` all the same.
  public mutating func read<Value: CompositeValue>(
    _ type: Value?.Type = Value?.self, default defaultValue: @autoclosure () -> Value?
  ) -> Value? {
    readIfPresent(Value.self)
  }

  /// The value of the next parts, which are a composite themselves.
  public mutating func read<Value: CompositeValue>(_ type: Value.Type = Value.self) -> Value {
    Value(reading: &self)
  }

  /// The value of the next parts; `nil` when all of them are missing.
  mutating func readIfPresent<Value: CompositeValue>(_ type: Value.Type) -> Value? {
    let hadRead = hasRead
    hasRead = false
    defer { hasRead = hasRead || hadRead }
    let value = Value(reading: &self)
    return hasRead ? value : nil
  }

  private func value(at index: Int) -> AttributeValue {
    if let row { return index < row.count ? row[index] : .null }
    return index < values.count ? values[index] : .null
  }
}
