// MARK: - Typed accessors

extension ManagedObject {
  /// The value of an attribute, for typed accessors. Neither throws nor traps.
  ///
  /// When the record cannot be loaded, the accessor returns the attribute's or the type's default, the object becomes
  /// unavailable, and the context reports the error in ``ManagedObjectContext/reportedErrors``:
  /// ``ErrorCode/recordVanished`` for a record deleted by other writers. A later save throws only if it depends on the
  /// object. An assignment of an invalid value is reported in the same way, and changes nothing.
  ///
  /// To be used inside the context. The first access to a fault reads the store; other accesses cost some nanoseconds.
  @inlinable public final subscript<Value>(key: AttributeKey<Value>) -> Value {
    // The value is read in place, where the type is known: a number is not copied as an `AttributeValue`. The object keeps
    // the memory of the value, and must outlive the read. An initializer owns its argument, so that an initializer of the
    // user, which may change the object, has a copy.
    get {
      withExtendedLifetime(self) { Value(attributeValue: accessibleAddress(of: key).pointee) } ?? fallback(for: key)
    }
    set { writeAccessible(newValue.attributeValue, of: key) }
  }

  /// The value of an accessor for a missing value of a required type, and for a value that the accessor's type cannot
  /// represent: the default of the attribute, or else of the type.
  @inlinable @inline(never) final func fallback<Value>(for key: AttributeKey<Value>) -> Value {
    checkType(Value.attributeType, of: key)
    return Value(attributeValue: declaredDefault(of: key)) ?? Value.attributeDefault
  }

  /// Reports a value whose type differs from the accessor's type. An accessor replaces a value of the right type that
  /// it cannot represent, such as an unknown case of an enumeration, by the default without a report.
  @usableFromInline final func checkType(_ type: AttributeType, of key: PropertyKey) {
    let slot = key.slot(in: self)
    guard slot >= 0, case .attribute(let attribute) = entity.slots[slot], attribute.type.storage != type.storage,
      let value = pending?[slot] ?? row?[slot], !value.isNull
    else { return }
    becomeUnavailable(
      CoherenceError(
        .wrongType,
        "'\(entity.name).\(attribute.name)' is of type \(attribute.type.storage.rawValue), and its accessor of type "
          + "\(type.storage.rawValue)."))
  }

  /// The value of an attribute for a non-throwing accessor. Null when the record cannot be loaded; the object then
  /// becomes unavailable, and the context reports the error.
  final func accessibleValue(of key: PropertyKey) -> AttributeValue {
    withExtendedLifetime(self) { accessibleAddress(of: key).pointee }
  }

  /// The address of ``accessibleValue(of:)``. Valid until the object changes or is released: the object retains the row
  /// or the draft that has the value. So the caller reads the value at once.
  @usableFromInline final func accessibleAddress(of key: PropertyKey) -> UnsafePointer<AttributeValue> {
    check()
    let slot = key.slot(in: self)
    if pending == nil, slot >= 0, let row { return row.valueAddress(at: slot) }
    return slowAddress(of: key, at: slot)
  }

  /// As ``accessibleAddress(of:)``, for a fault, an object with unsaved changes, and an unsuitable key.
  @inline(never) private final func slowAddress(
    of key: PropertyKey, at slot: Int
  ) -> UnsafePointer<AttributeValue> {
    guard slot >= 0 else {
      reportUnsuitableKey(key.name)
      return Self.nullAddress
    }
    do {
      return try loadedAddress(at: slot)
    } catch {
      becomeUnavailable(error)
      return Self.nullAddress
    }
  }

  // Safety of `nonisolated(unsafe)`: the memory is never written after its initialization, and never freed.
  nonisolated(unsafe) private static let nullAddress: UnsafePointer<AttributeValue> = {
    let address = UnsafeMutablePointer<AttributeValue>.allocate(capacity: 1)
    address.initialize(to: .null)
    return UnsafePointer(address)
  }()

  /// The default value of an attribute in the model; null for none.
  @usableFromInline final func declaredDefault(of key: PropertyKey) -> AttributeValue {
    let slot = key.slot(in: entity)
    return slot >= 0 ? entity.defaultValues[slot] : .null
  }

  /// Writes an attribute for a non-throwing accessor.
  ///
  /// The fast path serves repeated changes of one record: the next notification lists the record already (both `round`s
  /// are equal), no undo is recorded, and the slot accepts the value without a conversion.
  @usableFromInline final func writeAccessible(_ value: consuming AttributeValue, of key: PropertyKey) {
    check()
    let slot = key.slot(in: self)
    guard slot >= 0, let record = unmanagedPending, let storage = unmanagedStorage,
      record._withUnsafeGuaranteedRef({
        $0.round == storage._withUnsafeGuaranteedRef({ $0.notifications.round }) && $0.kind != .deleted
      }),
      !storage._withUnsafeGuaranteedRef(\.recordsUndo),
      unmanagedEntity._withUnsafeGuaranteedRef({ $0.plainValues[slot] }).contains(value)
    else { return writeChecked(value, of: key, at: slot) }
    storage._withUnsafeGuaranteedRef { $0.lockPending() }
    record._withUnsafeGuaranteedRef { $0.noteValue(value, at: slot) }.pointee = value
    storage._withUnsafeGuaranteedRef { $0.unlockPending() }
  }

  /// Writes an attribute after the checks that the fast path of ``writeAccessible(_:of:)`` spares.
  @inline(never) private final func writeChecked(_ value: AttributeValue, of key: PropertyKey, at slot: Int) {
    guard slot >= 0, case .attribute(let attribute) = entity.slots[slot] else {
      return reportUnsuitableKey(key.name, losesChange: true)
    }
    do {
      try write(try checkedValue(value, of: attribute), at: slot)
    } catch {
      becomeUnavailable(error, losesChange: true)
    }
  }

  /// Checks a value for an attribute, and returns it in its stored form.
  ///
  /// - Throws: ``ErrorCode/wrongType`` and ``ErrorCode/invalidValue``, with the attribute's name.
  final func checkedValue(_ value: AttributeValue, of attribute: AttributeDescription) throws -> AttributeValue {
    try attribute.checkIsAssignable()
    do {
      return try attribute.type.checked(value)
    } catch {
      throw named(error, attribute)
    }
  }

  /// The error with the attribute's name in its message.
  private final func named(_ error: any Error, _ attribute: AttributeDescription) -> any Error {
    guard var error = error as? CoherenceError, error.code == .wrongType || error.code == .invalidValue else {
      return error
    }
    error.message = "'\(entity.name).\(attribute.name)': \(error.message)"
    return error
  }

  /// Reports that an accessor's key names no property of the entity, or a property of another kind than the key's. The
  /// object becomes unavailable.
  final func reportUnsuitableKey(_ name: String, losesChange: Bool = false) {
    do {
      let property = try entity.property(named: name)
      let error = CoherenceError(
        .wrongType,
        "'\(entity.name).\(property.name)' is of another kind than its accessor; use a key for that kind of property.")
      becomeUnavailable(error, losesChange: losesChange)
    } catch {
      becomeUnavailable(error, losesChange: losesChange)
    }
  }
}

// MARK: - Access by name

extension ManagedObject {
  /// Returns the value of an attribute, or the identifier of the target of a to-one relationship. Loads a fault.
  ///
  /// - Throws: ``ErrorCode/unknownProperty``, ``ErrorCode/wrongType`` for a to-many relationship,
  ///   ``ErrorCode/objectNotFound`` and ``ErrorCode/objectDeleted`` when the record cannot be loaded, and errors of the
  ///   store.
  public final func value(for name: String) throws -> AttributeValue {
    check()
    return try loadedValue(at: try slot(named: name))
  }

  /// Returns the value of an attribute as a Swift type. Loads a fault.
  ///
  /// - Throws: As ``value(for:)``, and ``ErrorCode/wrongType`` when the value is of another type.
  public final func value<V: AttributeConvertible>(for name: String, as type: V.Type = V.self) throws -> V {
    let value = try value(for: name)
    guard let result = V(attributeValue: value) else {
      throw CoherenceError(
        .wrongType,
        "'\(entity.name).\(name)' has a value of type \(value.typeName), which is not a \(V.self); "
          + "ask for the attribute's type.")
    }
    return result
  }

  /// Sets an attribute; `nil` clears it. Loads a fault first. To be called inside the context. The type of the value is
  /// checked at once; the model's validation rules are checked at the next save.
  ///
  /// - Throws: ``ErrorCode/unknownProperty``, ``ErrorCode/wrongType``, ``ErrorCode/invalidValue``,
  ///   ``ErrorCode/objectDeleted``, and the errors of loading the record. A call that throws leaves the object
  ///   unchanged.
  public final func setValue(_ value: (any AttributeConvertible)?, for name: String) throws {
    try setAttributeValue(value?.attributeValue ?? .null, for: name)
  }

  /// Sets an attribute to a value in its stored form, or a to-one relationship to the object with an identifier.
  ///
  /// - Throws: As ``setValue(_:for:)``.
  public final func setAttributeValue(_ value: AttributeValue, for name: String) throws {
    check()
    let property = try entity.property(named: name)
    if let relationship = property as? RelationshipDescription {
      return try setReference(value, for: relationship)
    }
    guard let attribute = property as? AttributeDescription else { return }
    try write(try checkedValue(value, of: attribute), at: attribute.slot)
  }

  /// Sets a to-one relationship to a value in its stored form: null, or the identifier of the target.
  private final func setReference(_ value: AttributeValue, for relationship: RelationshipDescription) throws {
    switch value {
    case .null: try setTarget(nil, of: relationship)
    case .reference(let id):
      guard let context = managedObjectContext else {
        throw CoherenceError(
          .wrongContext,
          "'\(entity.name).\(relationship.name)' cannot be set by identifier in an object without a context; "
            + "insert the object first.")
      }
      try setTarget(try context.existingObject(with: id), of: relationship)
    default:
      throw CoherenceError(
        .wrongType,
        "'\(entity.name).\(relationship.name)' is a relationship and cannot have a value of type \(value.typeName); "
          + "set the identifier of an object.")
    }
  }

  /// The slot of an attribute or a to-one relationship.
  ///
  /// - Throws: ``ErrorCode/unknownProperty``, and ``ErrorCode/wrongType`` for a to-many relationship.
  final func slot(named name: String) throws -> Int {
    switch try entity.property(named: name) {
    case let attribute as AttributeDescription: return attribute.slot
    case let relationship as RelationshipDescription:
      if let slot = relationship.slot { return slot }
      throw CoherenceError(.wrongType, "'\(entity.name).\(name)' is a to-many relationship; use `objects(for:)`.")
    default: throw CoherenceError(.unknownProperty, "'\(entity.name)' has no property '\(name)'.")
    }
  }

  /// Loads the record if the object is a fault. A fault of a fetched group loads up to 256 neighbours with the same
  /// read. To be called inside the context; the call waits for the store. Costs nothing for a loaded object.
  ///
  /// - Throws: ``ErrorCode/objectNotFound`` when the record does not exist any more, and errors of the store.
  public final func load() throws {
    check()
    try loadRow()
  }
}
