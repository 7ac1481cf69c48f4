import CoherenceCore

/// The values of the record that is being decoded, independent of the model's type.
protocol DecodedRow: AnyObject {
  func value(_ field: Int) -> AttributeValue
  /// Whether the value of a field is JSON text.
  func isJSON(_ field: Int) -> Bool
}
