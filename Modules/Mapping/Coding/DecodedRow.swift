import CoherenceCore

/// The source of values for one decoding: a record's values by field, without the model's type as a generic parameter.
protocol DecodedRow: AnyObject {
  func value(_ field: Int) -> AttributeValue
  /// Whether the value of a field is JSON text.
  func isJSON(_ field: Int) -> Bool
}
