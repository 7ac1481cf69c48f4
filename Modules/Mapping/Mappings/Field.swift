public import CoherenceCore

/// A property of a model, and the attribute that it is kept in.
///
/// ```swift
/// Field("name", \.name)
/// Field("street", \.address.street, codingKey: "address.street")
/// Field("tags", json: \.tags)
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
  /// - Parameters:
  ///   - name: The attribute's name.
  ///   - codingKey: The key by which the model decodes the property; the attribute's name unless given. Keys of nested
  ///     values are joined with dots.
  ///   - defaultValue: The value of records that are there when the attribute is added to a store.
  ///   - validation: What the value has to satisfy to be saved.
  @inlinable
  public init<Value: AttributeConvertible>(
    _ name: String, _ keyPath: any KeyPath<Model, Value> & Sendable, codingKey: String? = nil,
    default defaultValue: Value? = nil, validation: [ValidationRule] = []
  ) {
    self.init(
      Attribute(
        name, Value.attributeType, optional: Self.isOptional(Value.self), default: defaultValue, validation: validation),
      keyPath: keyPath, codingKey: codingKey, isJSON: false, access: FieldAccess(keyPath))
  }

  /// A property of any type that can be coded, kept as JSON text with sorted keys; it may be optional.
  public init<Value: Codable & SendableMetatype>(
    _ name: String, json keyPath: any KeyPath<Model, Value> & Sendable, codingKey: String? = nil
  ) {
    self.init(
      Attribute(name, .codable, optional: Self.isOptional(Value.self)), keyPath: keyPath, codingKey: codingKey,
      isJSON: true, access: FieldAccess(json: keyPath))
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
