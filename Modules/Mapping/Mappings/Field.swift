public import CoherenceCore

/// A property of a model, and the attribute that stores it.
///
/// ```swift
/// Field("name", \.name)
/// Field("street", \.address.street, codingKey: "address.street")
/// Field("tags", json: \.tags)
/// Field("fullName", \.fullName, renamedFrom: "name")
/// ```
public struct Field<Model>: Sendable {
  /// The attribute of the mapping's entity.
  public let attribute: Attribute
  let keyPath: any PartialKeyPath<Model> & Sendable
  /// The keys by which the model's own decoding finds the value.
  let codingPath: [String]
  /// Whether the value is stored as JSON.
  let isJSON: Bool
  let access: FieldAccess<Model>

  /// Makes a field of a property with an attribute type, which may be optional.
  ///
  /// Every store rounds a `Date` to the microsecond, and so do conditions. `Date.roundedToMicroseconds()` gives the
  /// date of the fetched model, and ``Mapping/storedForm(of:)`` gives the whole fetched model.
  ///
  /// - Parameters:
  ///   - name: The attribute's name.
  ///   - codingKey: The key by which the model decodes the property; by default the attribute's name. Keys of nested
  ///     values are joined with dots.
  ///   - formerNames: The names of the attribute in earlier versions of the program, the latest first. A store with one
  ///     of these names keeps its values. Without its former name, a renamed field begins empty, and the former values
  ///     stay in the store, unused.
  ///   - defaultValue: The value of existing records when the attribute is added to a store.
  ///   - validation: The rules that a saved value has to satisfy.
  ///   - conversion: Converts a stored value of another type, `null` included, from an earlier version of the program.
  ///     Numbers that keep their exact values need no conversion: an `Int32` becomes an `Int`, a `Double` or a
  ///     `Decimal` by itself. See `ValueConversion` for the time of the conversion and for its errors.
  @inlinable
  public init<Value: AttributeConvertible>(
    _ name: String, _ keyPath: any KeyPath<Model, Value> & Sendable, codingKey: String? = nil,
    renamedFrom formerNames: String..., default defaultValue: Value? = nil, validation: [ValidationRule] = [],
    converting conversion: (@Sendable (AttributeValue) throws -> Value)? = nil
  ) {
    self.init(
      Attribute(
        name, Value.attributeType, optional: Self.isOptional(Value.self), default: defaultValue, validation: validation,
        formerNames: formerNames,
        converting: Self.rule(conversion)),
      keyPath: keyPath, codingKey: codingKey, isJSON: false, access: FieldAccess(keyPath))
  }

  /// Makes a field of a property of any `Codable` type, which may be optional. The store keeps JSON text with sorted
  /// keys. Dates in the text are not rounded.
  ///
  /// Equal values have equal texts, also a set and a dictionary with keys of any type. A set inside of the value, such
  /// as a property of a structure, is written in an order of its own: a save may write the record of an equal model.
  ///
  /// - Parameters:
  ///   - name: The attribute's name.
  ///   - codingKey: The key by which the model decodes the property; by default the attribute's name.
  ///   - formerNames: The names of the attribute in earlier versions of the program, the latest first.
  ///   - conversion: Converts a stored value of another type, `null` included.
  public init<Value: Codable & SendableMetatype>(
    _ name: String, json keyPath: any KeyPath<Model, Value> & Sendable, codingKey: String? = nil,
    renamedFrom formerNames: String..., converting conversion: (@Sendable (AttributeValue) throws -> Value)? = nil
  ) {
    self.init(
      Attribute(
        name, .codable, optional: Self.isOptional(Value.self), formerNames: formerNames,
        converting: Self.rule(json: conversion)),
      keyPath: keyPath, codingKey: codingKey, isJSON: true, access: FieldAccess(json: keyPath))
  }

  /// Reports a property whose type is no attribute type. The compiler chooses this initialiser for such types alone.
  @available(
    *, unavailable,
    message:
      "no attribute has the type of the property; write 'json:' before the key path to store JSON text, or declare the type with 'AttributeConvertible'"
  )
  public init<Value: Codable & SendableMetatype>(
    _ name: String, _ keyPath: any KeyPath<Model, Value> & Sendable, codingKey: String? = nil,
    renamedFrom formerNames: String...
  ) {
    self.init(name, json: keyPath, codingKey: codingKey)
  }

  @usableFromInline
  init(
    _ attribute: Attribute, keyPath: any PartialKeyPath<Model> & Sendable, codingKey: String?, isJSON: Bool,
    access: FieldAccess<Model>
  ) {
    self.attribute = attribute
    self.keyPath = keyPath
    self.isJSON = isJSON
    self.access = access
    codingPath = (codingKey ?? attribute.name).split(separator: ".", omittingEmptySubsequences: false).map(String.init)
  }

  /// The conversion rule of an attribute.
  @inlinable static func rule<Value: AttributeConvertible>(
    _ conversion: (@Sendable (AttributeValue) throws -> Value)?
  ) -> ValueConversion? {
    guard let conversion else { return nil }
    return { try conversion($0).attributeValue }
  }

  private static func rule<Value: Codable & SendableMetatype>(
    json conversion: (@Sendable (AttributeValue) throws -> Value)?
  ) -> ValueConversion? {
    guard let conversion else { return nil }
    return { try JSONText.attributeValue(of: conversion($0)) }
  }

  @usableFromInline static func isOptional<Value>(_ type: Value.Type) -> Bool { Value.self is any OptionalValue.Type }
}

/// Implemented by optional types alone.
private protocol OptionalValue {}
extension Optional: OptionalValue {}

/// Builds the list of a mapping's fields.
@resultBuilder
public enum FieldsBuilder<Model> {
  public static func buildExpression(_ field: Field<Model>) -> [Field<Model>] { [field] }
  public static func buildBlock(_ parts: [Field<Model>]...) -> [Field<Model>] { parts.flatMap { $0 } }
  public static func buildArray(_ parts: [[Field<Model>]]) -> [Field<Model>] { parts.flatMap { $0 } }
  public static func buildOptional(_ part: [Field<Model>]?) -> [Field<Model>] { part ?? [] }
  public static func buildEither(first: [Field<Model>]) -> [Field<Model>] { first }
  public static func buildEither(second: [Field<Model>]) -> [Field<Model>] { second }
}
