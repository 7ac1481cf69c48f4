/// The key of a property with a type that the model cannot store. A program with such a key does not compile.
///
/// The accessors of the property have the error, and every other use of the key compiles, so that the compiler reports
/// a mistake once. `Reason` selects the words of the error. Part of the expansions of
/// ``Entity(_:abstract:formerNames:userInfo:)``; user code does not need it.
public struct UnsupportedKey<Reason, Value>: ResolvedKey {
  init() {}

  /// The value of the property. Only unavailable getters read it, so that no program that reads the value compiles.
  fileprivate var value: Value { fatalError("A property that does not compile has no value.") }

  /// Returns a stand-in.
  public static func snapshotValue(_ value: Value) -> UnsupportedValue { UnsupportedValue() }
}

/// The stand-in of a value that the model cannot store, in snapshots.
public struct UnsupportedValue: Codable, Sendable, Equatable, ExpressibleByNilLiteral {
  init() {}

  /// Makes a stand-in.
  public init(nilLiteral: ()) {}
}

// MARK: - Reasons

/// The type is a composite, and the property has no option.
public enum WithoutComposite {}
/// The type is `Codable`, and the property has no option.
public enum WithoutCodable {}
/// The type has raw values, and is not convertible to an attribute.
public enum WithoutConversion {}
/// The type is an integer of a size or sign that the model does not have.
public enum OtherInteger {}
/// The type is the class of an entity, without the optional.
public enum RequiredTarget {}
/// The type is the optional of an entity's class, and the property has options or a default of an attribute.
public enum RelationshipAsAttribute {}
/// The type is of none of the forms that a model stores.
public enum NotStorable {}

extension ManagedObject {
  /// Reports a composite without its option.
  public final subscript<Value>(key: UnsupportedKey<WithoutComposite, Value>) -> Value {
    @available(
      *, unavailable,
      message: "the type of the property is a composite; write '@Attribute(.composite)' before the property"
    )
    get { key.value }
    set {}
  }

  /// Reports a codable value without its option.
  public final subscript<Value>(key: UnsupportedKey<WithoutCodable, Value>) -> Value {
    @available(
      *, unavailable,
      message:
        "the type of the property is 'Codable'; write '@Attribute(.codable)' before the property to store JSON text, or declare the type with '@Composite' and write '@Attribute(.composite)' to store each part"
    )
    get { key.value }
    set {}
  }

  /// Reports an enumeration without a conversion.
  public final subscript<Value>(key: UnsupportedKey<WithoutConversion, Value>) -> Value {
    @available(
      *, unavailable,
      message:
        "the type of the property has raw values, but no conversion; declare it with 'CaseIterable, AttributeConvertible' to store the raw value"
    )
    get { key.value }
    set {}
  }

  /// Reports an integer of another type than those of the model.
  public final subscript<Value>(key: UnsupportedKey<OtherInteger, Value>) -> Value {
    @available(
      *, unavailable,
      message:
        "the integers of a model are 'Int', 'Int16', 'Int32' and 'Int64'; declare the property with one of these types"
    )
    get { key.value }
    set {}
  }

  /// Reports a relationship whose type is no optional.
  public final subscript<Target>(key: UnsupportedKey<RequiredTarget, Target>) -> Target {
    @available(
      *, unavailable,
      message:
        "a relationship to one object is optional in Swift, because a new object has no target yet; write '?' after the type, and '@Relationship(required: true)' before the property if a save demands a target"
    )
    get { key.value }
    set {}
  }

  /// Reports a relationship with the options or the default of an attribute.
  public final subscript<Value>(key: UnsupportedKey<RelationshipAsAttribute, Value>) -> Value {
    @available(
      *, unavailable,
      message:
        "the property is a relationship by its type; write '@Relationship' in the place of '@Attribute', and remove the default"
    )
    get { key.value }
    set {}
  }

  /// Reports a value that the model cannot store.
  public final subscript<Value>(key: UnsupportedKey<NotStorable, Value>) -> Value {
    @available(
      *, unavailable,
      message:
        "the model cannot store the type of the property; make the type 'Codable' and write '@Attribute(.codable)' before the property, declare the type with '@Composite' and write '@Attribute(.composite)', or leave the property out of the model with '@Transient'"
    )
    get { key.value }
    set {}
  }
}
