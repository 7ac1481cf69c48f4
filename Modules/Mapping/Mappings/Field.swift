public import CoherenceCore
import CoherenceReconciliation

/// A property of a model, and the attribute that it is kept in.
///
/// ```swift
/// Field("name", \.name)
/// Field("street", \.address.street, codingKey: "address.street")
/// Field("tags", json: \.tags)
/// Field("fullName", \.fullName, renamedFrom: "name")
/// ```
public struct Field<Model>: Sendable {
  /// The attribute, as a model of entities declares it.
  public let attribute: Attribute
  let keyPath: any PartialKeyPath<Model> & Sendable
  /// Where the model's own decoding looks for the value.
  let codingPath: [String]
  /// Whether the value is kept as JSON.
  let isJSON: Bool
  let access: FieldAccess<Model>

  /// A property whose type can be that of an attribute; it may be optional.
  ///
  /// A `Date` is kept to the microsecond, as every store keeps it, and a fetched model has the rounded date:
  /// `Date.roundedToMicroseconds()` makes a model that equals the fetched one, and ``Mapping/storedForm(of:)`` turns any model
  /// into that form. Conditions round their dates likewise.
  ///
  /// - Parameters:
  ///   - name: The attribute's name.
  ///   - codingKey: The key by which the model decodes the property; the attribute's name unless given. Keys of nested
  ///     values are joined with dots.
  ///   - formerNames: The names that the attribute had in earlier versions of the program, the latest first. A store that a
  ///     program with one of these names wrote keeps its values. Without the former name a renamed field is a new one: the
  ///     values stay in the store under the name that no model has any more, and the field begins empty.
  ///   - defaultValue: The value of records that are there when the attribute is added to a store.
  ///   - validation: What the value has to satisfy to be saved.
  ///   - conversion: Makes the value of one that a store keeps in another type, `null` included, because the property had
  ///     another type in an earlier version of the program. Numbers that keep their exact values need none: an `Int32` becomes
  ///     an `Int`, a `Double` or a `Decimal` by itself. See `ValueConversion` for when it runs and what an error does.
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

  /// A property of any type that can be coded, kept as JSON text with sorted keys; it may be optional. Dates in it are kept
  /// whole, not to the microsecond.
  ///
  /// - Parameters:
  ///   - formerNames: The names that the attribute had in earlier versions of the program, the latest first.
  ///   - conversion: Makes the value of one that a store keeps in another type, `null` included.
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

  /// The rule of an attribute that makes the property's value.
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

/// Tells optional types from others.
private protocol OptionalValue {}
extension Optional: OptionalValue {}

/// Puts the fields of a mapping together.
@resultBuilder
public enum FieldsBuilder<Model> {
  public static func buildExpression(_ field: Field<Model>) -> [Field<Model>] { [field] }
  public static func buildBlock(_ parts: [Field<Model>]...) -> [Field<Model>] { parts.flatMap { $0 } }
  public static func buildArray(_ parts: [[Field<Model>]]) -> [Field<Model>] { parts.flatMap { $0 } }
  public static func buildOptional(_ part: [Field<Model>]?) -> [Field<Model>] { part ?? [] }
  public static func buildEither(first: [Field<Model>]) -> [Field<Model>] { first }
  public static func buildEither(second: [Field<Model>]) -> [Field<Model>] { second }
}
