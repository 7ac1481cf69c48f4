// The throwing accessors of properties, and the values before and after the unsaved changes, by key paths of the table of
// a class. To be called inside of the object's context, as its properties are.

extension DeclaredEntity {
  /// Returns the value of an attribute. Loads a fault. The throwing form of the accessor.
  ///
  /// - Throws: ``ErrorCode/objectNotFound`` and ``ErrorCode/objectDeleted`` when the record cannot be loaded,
  ///   ``ErrorCode/wrongType`` when a required value is missing, and errors of the store.
  public func value<Value>(for attribute: KeyPath<Properties, AttributeKey<Value>>) throws -> Value {
    try value(for: Properties.table[keyPath: attribute].name, as: Value.self)
  }

  /// Sets an attribute. Loads a fault first. The throwing form of the accessor.
  ///
  /// - Throws: ``ErrorCode/wrongType``, ``ErrorCode/invalidValue``, ``ErrorCode/objectDeleted``, and the errors of
  ///   loading the record. A call that throws leaves the object unchanged.
  public func setValue<Value>(_ value: Value, for attribute: KeyPath<Properties, AttributeKey<Value>>) throws {
    try setAttributeValue(value.attributeValue, for: Properties.table[keyPath: attribute].name)
  }

  /// Returns the value from before the unsaved changes: the saved value, or `nil` for an inserted object, and for a value
  /// that does not convert to the type; see ``ManagedObject/committedValues(forKeys:)``. Loads a fault.
  ///
  /// The result of an optional attribute is an optional of an optional: a saved `nil` is `.some(nil)`.
  ///
  /// - Throws: The errors of loading the record.
  public func committedValue<Value>(for attribute: KeyPath<Properties, AttributeKey<Value>>) throws -> Value? {
    try committedValue(named: Properties.table[keyPath: attribute].name)
  }

  /// Returns the unsaved value of an attribute; `nil` when the attribute has no unsaved change. Loads nothing.
  ///
  /// The result of an optional attribute is an optional of an optional: an unsaved `nil` is `.some(nil)`.
  public func changedValue<Value>(for attribute: KeyPath<Properties, AttributeKey<Value>>) -> Value? {
    changedAttributeValue(for: Properties.table[keyPath: attribute].name).flatMap(Value.init(attributeValue:))
  }

  /// Returns the identifier of the target of a to-one relationship from before the unsaved changes; `nil` for no target,
  /// and for an inserted object. Loads a fault, and does not load the target.
  ///
  /// - Throws: The errors of loading the record.
  public func committedObjectID<Target>(
    for relationship: KeyPath<Properties, ToOneKey<Target>>
  ) throws -> ManagedObjectID? {
    guard case .reference(let id) = try committedValue(for: Properties.table[keyPath: relationship].name) else {
      return nil
    }
    return id
  }

  /// Returns the target of a to-one relationship; `nil` for no target. Loads a fault. The throwing form of the accessor.
  ///
  /// - Throws: As ``ManagedObject/object(for:)``, and ``ErrorCode/wrongType`` when the target is of another class.
  public func object<Target>(for relationship: KeyPath<Properties, ToOneKey<Target>>) throws -> Target? {
    try target(named: Properties.table[keyPath: relationship].name)
  }

  /// Sets the target of a to-one relationship; `nil` clears it. The throwing form of the accessor.
  ///
  /// - Throws: As ``ManagedObject/setObject(_:for:)``.
  public func setObject<Target>(_ object: Target?, for relationship: KeyPath<Properties, ToOneKey<Target>>) throws {
    try setObject(object, for: Properties.table[keyPath: relationship].name)
  }
}

// MARK: - Own properties of subclasses, by the accessors of the class

extension DeclaredSubentity {
  /// Returns the value of an attribute of the subclass. Loads a fault.
  ///
  /// - Throws: ``ErrorCode/unknownProperty`` for an accessor of no stored property, and the errors of loading.
  @_disfavoredOverload
  public func value<Value: AttributeConvertible>(for attribute: ReferenceWritableKeyPath<Self, Value>) throws -> Value {
    try value(for: try Self.storedName(of: attribute), as: Value.self)
  }

  /// Sets an attribute of the subclass. Loads a fault first.
  ///
  /// - Throws: ``ErrorCode/unknownProperty`` for an accessor of no stored property, and the errors of setting by name.
  @_disfavoredOverload
  public func setValue<Value: AttributeConvertible>(
    _ value: Value, for attribute: ReferenceWritableKeyPath<Self, Value>
  ) throws {
    try setAttributeValue(value.attributeValue, for: try Self.storedName(of: attribute))
  }

  /// Returns the unsaved value of an attribute of the subclass; `nil` when the attribute has no unsaved change, and for an
  /// accessor of no stored property. Loads nothing.
  @_disfavoredOverload
  public func changedValue<Value: AttributeConvertible>(for attribute: ReferenceWritableKeyPath<Self, Value>) -> Value?
  {
    changedAttributeValue(for: Self.propertyName(of: attribute)).flatMap(Value.init(attributeValue:))
  }
}

extension DeclaredSubentity {
  /// Returns the value of an attribute of the subclass from before the unsaved changes: the saved value, or `nil` for an
  /// inserted object, and for a value that does not convert to the type. Loads a fault.
  ///
  /// - Throws: ``ErrorCode/unknownProperty`` for an accessor of no stored property, and the errors of loading.
  @_disfavoredOverload
  public func committedValue<Value: AttributeConvertible>(
    for attribute: ReferenceWritableKeyPath<Self, Value>
  ) throws -> Value? {
    try committedValue(named: try Self.storedName(of: attribute))
  }

  /// Returns the target of a to-one relationship of the subclass; `nil` for no target. Loads a fault.
  ///
  /// - Throws: ``ErrorCode/unknownProperty`` for an accessor of no stored property, ``ErrorCode/wrongType`` when the
  ///   target is of another class, and the errors of loading.
  @_disfavoredOverload
  public func object<Target: ManagedObject>(
    for relationship: ReferenceWritableKeyPath<Self, Target?>
  ) throws -> Target? {
    try target(named: try Self.storedName(of: relationship))
  }

  /// Sets the target of a to-one relationship of the subclass; `nil` clears it.
  ///
  /// - Throws: ``ErrorCode/unknownProperty`` for an accessor of no stored property; as
  ///   ``ManagedObject/setObject(_:for:)`` otherwise.
  @_disfavoredOverload
  public func setObject<Target: ManagedObject>(
    _ object: Target?, for relationship: ReferenceWritableKeyPath<Self, Target?>
  ) throws {
    try setObject(object, for: try Self.storedName(of: relationship))
  }
}

extension ManagedObject {
  /// Returns the committed value of an attribute; `nil` for an inserted object.
  fileprivate final func committedValue<Value: AttributeConvertible>(named name: String) throws -> Value? {
    let value = try committedValue(for: name)
    // An optional type would convert the null of an inserted object to a value.
    return isInserted ? nil : Value(attributeValue: value)
  }

  /// Returns the target of a to-one relationship.
  ///
  /// - Throws: As ``object(for:)``, and ``ErrorCode/wrongType`` when the target is of another class.
  fileprivate final func target<Target: ManagedObject>(named name: String) throws -> Target? {
    guard let object = try object(for: name) else { return nil }
    guard let target = object as? Target else {
      throw CoherenceError(
        .wrongType,
        "'\(entity.name).\(name)' leads to an object of '\(object.entity.name)', which is not a \(Target.self); "
          + "declare the class of the destination in the key.")
    }
    return target
  }

  /// The unsaved value of an attribute; `nil` when the attribute has no unsaved change.
  fileprivate final func changedAttributeValue(for name: String) -> AttributeValue? {
    check()
    guard let pending, let slot = entity.attribute(named: name)?.slot, pending.changed.contains(slot) else {
      return nil
    }
    return pending[slot]
  }
}
