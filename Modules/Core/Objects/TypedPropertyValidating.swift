/// A class of objects with typed, coded validation rules for single properties.
///
/// A save calls the rule like the rule of a ``PropertyValidating`` class. Key paths of the property table name the
/// properties, so that a rule for an unknown property, or for a value of another type, is a compile-time error.
///
/// ```swift
/// final class Invoice: ManagedObject, TypedPropertyValidating {
///   func validate(_ property: ValidatedProperty<Properties>) throws {
///     try property.check(\.sum) { if $0 % 5 != 0 { throw Refusal("is no multiple of five cents") } }
///     try property.check(\.size, \.width) { if $0 > 3 { throw Refusal("is wider than a door") } }
///   }
/// }
/// ```
/// Subclasses inherit the rules. A subclass with rules of its own overrides the method, calls `super`, and names its
/// own properties by the keys of its own table: `property.check(Properties.table.chart) { … }`.
public protocol TypedPropertyValidating: PropertyValidating {
  /// The table of the properties.
  associatedtype Properties: EntityProperties
  /// Checks a value of a property. Called as ``PropertyValidating/validate(_:for:)``.
  ///
  /// - Throws: Anything; a save fails with ``ErrorCode/validationFailed``, which has the text of the error and the name
  ///   of the property.
  func validate(_ property: ValidatedProperty<Properties>) throws
}

extension TypedPropertyValidating {
  /// Calls the typed rule.
  public func validate(_ value: AttributeValue, for property: PropertyDescription) throws {
    try validate(ValidatedProperty(value, of: property))
  }
}

/// A property in a validation, with the value to save. To be used within the call of the validation.
public struct ValidatedProperty<Properties: EntityProperties> {
  /// The value in its stored form; null for no value, the identifier of the target for a relationship.
  public let value: AttributeValue
  /// An attribute, a part of a composite, or a to-one relationship.
  public let property: PropertyDescription

  init(_ value: AttributeValue, of property: PropertyDescription) {
    self.value = value
    self.property = property
  }

  /// Applies a rule if the property is the attribute.
  ///
  /// The rule is not called for a missing value of a required type, which the model's own rules report. For an optional
  /// type, the rule is called with `nil`.
  ///
  /// - Throws: The errors of the rule.
  public func check<Value>(
    _ attribute: KeyPath<Properties, AttributeKey<Value>>, _ rule: (Value) throws -> Void
  ) throws {
    try check(Properties.table[keyPath: attribute], rule)
  }

  /// Applies a rule if the property is the attribute of a key, such as the key of a subclass's own attribute.
  ///
  /// - Throws: The errors of the rule.
  public func check<Value>(_ attribute: AttributeKey<Value>, _ rule: (Value) throws -> Void) throws {
    try check(named: attribute.name, rule)
  }

  /// Applies a rule if the property is this part of this composite.
  ///
  /// - Throws: The errors of the rule.
  public func check<Composite, Part: AttributeConvertible>(
    _ composite: KeyPath<Properties, CompositeKey<Composite>>, _ part: KeyPath<Composite.Parts, PartKey<Part>>,
    _ rule: (Part) throws -> Void
  ) throws {
    let name = Properties.table[keyPath: composite].name
    try check(named: "\(name).\(Composite.Parts.table[keyPath: part].name)", rule)
  }

  /// Applies a rule to the identifier of the target if the property is the to-one relationship; `nil` for no target.
  ///
  /// - Throws: The errors of the rule.
  public func check<Target>(
    _ relationship: KeyPath<Properties, ToOneKey<Target>>, _ rule: (ManagedObjectID?) throws -> Void
  ) throws {
    guard property.name == Properties.table[keyPath: relationship].name else { return }
    if case .reference(let id) = value { try rule(id) } else { try rule(nil) }
  }

  private func check<Value: AttributeConvertible>(named name: String, _ rule: (Value) throws -> Void) throws {
    guard property.name == name, let value = Value(attributeValue: value) else { return }
    try rule(value)
  }
}
