/// Makes keys of properties, and declares the properties, by the type of a property.
///
/// An attribute has a type convertible to an attribute, a relationship the optional of an entity's class. Any other
/// type leads to an ``UnsupportedKey``, whose use in an accessor is a compile-time error that names the correction.
/// Part of the expansions of ``Entity(_:abstract:formerNames:userInfo:)``; user code does not need it.
// The disfavoured overloads are for types that the others do not accept. Two of them are as good for a `Codable` type
// with raw values, or a `Codable` integer, so these types have an overload of their own, which is more specific than
// both.
public enum PropertyResolution {
  // MARK: - Properties of an optional type

  /// Makes the key of an optional attribute.
  public static func key<Value: AttributeConvertible>(
    _ name: String, optional type: Value.Type
  ) -> AttributeKey<Value?> { AttributeKey(name) }

  /// Makes the key of a to-one relationship.
  public static func key<Target: ManagedObject>(_ name: String, optional type: Target.Type) -> ToOneKey<Target> {
    ToOneKey(name)
  }

  /// Makes the key of a composite without its option.
  public static func key<Value: CompositeValue>(
    _ name: String, optional type: Value.Type
  ) -> UnsupportedKey<WithoutComposite, Value?> { UnsupportedKey() }

  /// Makes the key of an enumeration without a conversion.
  @_disfavoredOverload
  public static func key<Value: RawRepresentable>(
    _ name: String, optional type: Value.Type
  ) -> UnsupportedKey<WithoutConversion, Value?> where Value.RawValue: AttributeConvertible { UnsupportedKey() }

  /// Makes the key of a codable enumeration without a conversion.
  @_disfavoredOverload
  public static func key<Value: RawRepresentable & Codable>(
    _ name: String, optional type: Value.Type
  ) -> UnsupportedKey<WithoutConversion, Value?> where Value.RawValue: AttributeConvertible { UnsupportedKey() }

  /// Makes the key of an integer of a type that the model does not have.
  @_disfavoredOverload
  public static func key<Value: FixedWidthInteger & Codable>(
    _ name: String, optional type: Value.Type
  ) -> UnsupportedKey<OtherInteger, Value?> { UnsupportedKey() }

  /// Makes the key of a codable value without its option.
  @_disfavoredOverload
  public static func key<Value: Codable>(
    _ name: String, optional type: Value.Type
  ) -> UnsupportedKey<WithoutCodable, Value?> { UnsupportedKey() }

  /// Makes the key of a value that the model cannot store.
  @_disfavoredOverload
  public static func key<Value>(_ name: String, optional type: Value.Type) -> UnsupportedKey<NotStorable, Value?> {
    UnsupportedKey()
  }

  // MARK: - Properties of another type

  /// Makes the key of a required attribute.
  public static func key<Value: AttributeConvertible>(_ name: String, required type: Value.Type) -> AttributeKey<Value>
  {
    AttributeKey(name)
  }

  /// Makes the key of a relationship whose type is no optional.
  public static func key<Target: ManagedObject>(
    _ name: String, required type: Target.Type
  ) -> UnsupportedKey<RequiredTarget, Target> { UnsupportedKey() }

  /// Makes the key of a composite without its option.
  public static func key<Value: CompositeValue>(
    _ name: String, required type: Value.Type
  ) -> UnsupportedKey<WithoutComposite, Value> { UnsupportedKey() }

  /// Makes the key of an enumeration without a conversion.
  @_disfavoredOverload
  public static func key<Value: RawRepresentable>(
    _ name: String, required type: Value.Type
  ) -> UnsupportedKey<WithoutConversion, Value> where Value.RawValue: AttributeConvertible { UnsupportedKey() }

  /// Makes the key of a codable enumeration without a conversion.
  @_disfavoredOverload
  public static func key<Value: RawRepresentable & Codable>(
    _ name: String, required type: Value.Type
  ) -> UnsupportedKey<WithoutConversion, Value> where Value.RawValue: AttributeConvertible { UnsupportedKey() }

  /// Makes the key of an integer of a type that the model does not have.
  @_disfavoredOverload
  public static func key<Value: FixedWidthInteger & Codable>(
    _ name: String, required type: Value.Type
  ) -> UnsupportedKey<OtherInteger, Value> { UnsupportedKey() }

  /// Makes the key of a codable value without its option.
  @_disfavoredOverload
  public static func key<Value: Codable>(
    _ name: String, required type: Value.Type
  ) -> UnsupportedKey<WithoutCodable, Value> { UnsupportedKey() }

  /// Makes the key of a value that the model cannot store.
  @_disfavoredOverload
  public static func key<Value>(_ name: String, required type: Value.Type) -> UnsupportedKey<NotStorable, Value> {
    UnsupportedKey()
  }
}
