// `@Entity` writes a call of these functions for each property of a type that the macro does not know. The compiler
// chooses the overload by the type of the key.
extension PropertyResolution {
  /// Declares a property of an optional type without options: an attribute.
  public static func declaration<Value: AttributeConvertible>(
    of key: AttributeKey<Value>
  ) -> CoherenceCore.Attribute { CoherenceCore.Attribute(key.name, Value.attributeType, optional: true) }

  /// Declares a property of an optional type without options: a relationship, whose inverse the model finds.
  public static func declaration<Target: DeclaredEntity>(of key: ToOneKey<Target>) -> CoherenceCore.Relationship {
    CoherenceCore.Relationship(key.name, toOne: Target.entityName)
  }

  /// Refuses a relationship to a class that declares no entity.
  @available(
    *, unavailable,
    message: "the target of a relationship is a class with '@Entity'; declare the class of the property with the macro"
  )
  @_disfavoredOverload
  public static func declaration<Target>(of key: ToOneKey<Target>) -> CoherenceCore.Relationship {
    CoherenceCore.Relationship(key.name, toOne: "")
  }

  /// Declares a property with a type that the model cannot store, so that the accessor alone has an error.
  public static func declaration<Reason, Value>(
    of key: UnsupportedKey<Reason, Value>
  ) -> CoherenceCore.Attribute { CoherenceCore.Attribute("", .string) }

  /// Declares an attribute.
  public static func attribute<Value: AttributeConvertible>(
    of key: AttributeKey<Value>, optional: Bool = false, default defaultValue: Value? = nil,
    validation: [ValidationRule] = [], formerNames: [String] = [], converting conversion: ValueConversion? = nil,
    userInfo: [String: String] = [:]
  ) -> CoherenceCore.Attribute {
    CoherenceCore.Attribute(
      key.name, Value.attributeType, optional: optional, default: defaultValue, validation: validation,
      formerNames: formerNames, converting: conversion, userInfo: userInfo)
  }

  /// Declares an attribute with a type that the model cannot store, so that the accessor alone has an error.
  public static func attribute<Reason, Value>(
    of key: UnsupportedKey<Reason, Value>, optional: Bool = false, default defaultValue: Value? = nil,
    validation: [ValidationRule] = [], formerNames: [String] = [], converting conversion: ValueConversion? = nil,
    userInfo: [String: String] = [:]
  ) -> CoherenceCore.Attribute { CoherenceCore.Attribute("", .string) }
}
