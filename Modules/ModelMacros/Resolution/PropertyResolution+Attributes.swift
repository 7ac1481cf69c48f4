extension PropertyResolution {
  // MARK: - Properties with `@Attribute` or with a default

  /// Returns the key of an attribute.
  public static func attributeKey<Value>(_ key: AttributeKey<Value>) -> AttributeKey<Value> { key }

  /// Refuses the options and the default of an attribute at a relationship.
  public static func attributeKey<Target>(
    _ key: ToOneKey<Target>
  ) -> UnsupportedKey<RelationshipAsAttribute, Target?> { UnsupportedKey() }

  /// Returns the key itself, whose accessors have an error already.
  public static func attributeKey<Reason, Value>(
    _ key: UnsupportedKey<Reason, Value>
  ) -> UnsupportedKey<Reason, Value> { key }
}
