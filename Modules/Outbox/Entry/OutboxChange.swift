/// The change of one attribute or to-one relationship in an entry.
public struct OutboxChange: Sendable, Hashable {
  /// The name of the property in the present model: the recorded name, or the new name after a migration renamed the
  /// property.
  public let name: String
  /// The name of the property when the change was recorded.
  public let recordedName: String
  /// Whether the model still has the property. The values of a removed property stay in the entry.
  public let isKnown: Bool
  /// The value before the change; `nil` in an insert.
  public var base: OutboxValue?
  /// The value after the change; `nil` in a delete.
  public var value: OutboxValue?

  /// Makes a change of a property that the present model has by its recorded name.
  ///
  /// - Parameters:
  ///   - base: The value before the change; `nil` in an insert.
  ///   - value: The value after the change; `nil` in a delete.
  public init(_ name: String, base: OutboxValue? = nil, value: OutboxValue? = nil) {
    self.init(name: name, recordedName: name, isKnown: true, base: base, value: value)
  }

  init(name: String, recordedName: String, isKnown: Bool, base: OutboxValue?, value: OutboxValue?) {
    self.name = name
    self.recordedName = recordedName
    self.isKnown = isKnown
    self.base = base
    self.value = value
  }

  /// Whether this copy lacks a value of the change because of the value's size; see
  /// ``OutboxValue/omitted(byteCount:)``.
  public var hasOmittedValue: Bool {
    [base, value].contains { if case .omitted = $0 { true } else { false } }
  }
}
