import SwiftSyntax

/// Properties whose kind the compiler decides, because the text of the type does not show it: `Account?` is a to-one
/// relationship for an entity's class, and an attribute for a type convertible to an attribute.
extension StoredProperty {
  /// Whether the compiler has yet to decide the kind.
  var needsResolution: Bool {
    kind == .attribute && !shape.isStandard && !options.contains("transformable") && !options.contains("derived")
  }

  /// Whether the variable is declared with `@Attribute`.
  var hasMarker: Bool { declaration.marker("Attribute") != nil }

  /// The name of the type with the key, in the property table.
  var resolvedType: String { "TypeOf_\(name)" }

  /// Whether the compiler may find a relationship: the type is optional, and the property has neither `@Attribute` nor
  /// a default.
  var mayBeRelationship: Bool { shape.isOptional && !hasMarker && modelDefault == nil && objectDefault == nil }

  /// The declaration of the type with the key; `nil` for a property whose text shows its kind.
  ///
  /// `key` is a to-one key for the class of an entity. With `@Attribute` or a default, `attributeKey` makes such a key a
  /// compile-time error.
  var resolution: String? {
    guard needsResolution else { return nil }
    let resolution = "CoherenceModelMacros.PropertyResolution"
    let label = shape.isOptional ? "optional" : "required"
    let key = "\(resolution).key(\"\(name)\", \(label): (\(shape.text)).self)"
    let value = mayBeRelationship || !shape.isOptional ? key : "\(resolution).attributeKey(\(key))"
    return """
      \(keyAccess)enum \(resolvedType): CoherenceModelMacros.ResolvedType {
      \(keyAccess)static let key = \(value)
      }
      """
  }
}
