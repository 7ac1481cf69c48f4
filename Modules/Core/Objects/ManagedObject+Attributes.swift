// MARK: - Typed accessors

extension ManagedObject {
  /// An attribute's value, for accessors. Neither throws nor traps: when the record cannot be loaded, the type's default
  /// is answered, the object is marked unavailable, the error is reported on the context, and the next save refuses.
  /// A value that the type refuses on assignment is reported the same way.
  @inlinable public final subscript<Value>(key: AttributeKey<Value>) -> Value {
    get { Value(attributeValue: accessibleValue(of: key)) ?? fallback(for: key) }
    set { writeAccessible(newValue.attributeValue, of: key) }
  }

  @inlinable @inline(never) final func fallback<Value>(for key: AttributeKey<Value>) -> Value {
    checkType(Value.attributeType, of: key)
    return Value(attributeValue: declaredDefault(of: key)) ?? Value.attributeDefault
  }

  /// Reports a present value of another type than the accessor's. A value of the same type, but unknown to the
  /// accessor, as of an enumeration, is replaced by the default.
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

  /// The value of an attribute for a non-throwing accessor: null, the object marked unavailable and the error reported
  /// on the context, when the record cannot be loaded.
  @usableFromInline final func accessibleValue(of key: PropertyKey) -> AttributeValue {
    check()
    let slot = key.slot(in: self)
    if pending == nil, slot >= 0, let row { return row[slot] }
    return slowValue(of: key, at: slot)
  }

  @inline(never) private final func slowValue(of key: PropertyKey, at slot: Int) -> AttributeValue {
    guard slot >= 0 else {
      unknown(key.name)
      return .null
    }
    do {
      return try loadedValue(at: slot)
    } catch {
      becomeUnavailable(error)
      return .null
    }
  }

  @usableFromInline final func declaredDefault(of key: PropertyKey) -> AttributeValue {
    let slot = key.slot(in: entity)
    return slot >= 0 ? entity.defaultValues[slot] : .null
  }

  /// Writes an attribute for a non-throwing accessor.
  @usableFromInline final func writeAccessible(_ value: consuming AttributeValue, of key: PropertyKey) {
    check()
    let slot = key.slot(in: self)
    guard slot >= 0, let record = unmanagedPending, let storage = unmanagedStorage,
      record._withUnsafeGuaranteedRef({ $0.round == storage._withUnsafeGuaranteedRef(\.round) && $0.kind != .deleted }),
      unmanagedEntity._withUnsafeGuaranteedRef({ $0.plainValues[slot] }).contains(value)
    else { return writeChecked(value, of: key, at: slot) }
    storage._withUnsafeGuaranteedRef { $0.lockPending() }
    record.takeUnretainedValue().set(value, at: slot)
    storage._withUnsafeGuaranteedRef { $0.unlockPending() }
  }

  @inline(never) private final func writeChecked(_ value: AttributeValue, of key: PropertyKey, at slot: Int) {
    guard slot >= 0, case .attribute(let attribute) = entity.slots[slot] else {
      return unknown(key.name, losesChange: true)
    }
    do {
      try write(try attribute.type.checked(value), at: slot)
    } catch {
      becomeUnavailable(named(error, attribute), losesChange: true)
    }
  }

  /// The error with the name of the attribute that it is about.
  private final func named(_ error: any Error, _ attribute: AttributeDescription) -> any Error {
    guard var error = error as? CoherenceError, error.code == .wrongType || error.code == .invalidValue else {
      return error
    }
    error.message = "'\(entity.name).\(attribute.name)': \(error.message)"
    return error
  }

  final func unknown(_ name: String, losesChange: Bool = false) {
    do {
      let property = try entity.property(named: name)
      let error = CoherenceError(.wrongType, "'\(property.name)' is of another kind than its accessor says.")
      becomeUnavailable(error, losesChange: losesChange)
    } catch {
      becomeUnavailable(error, losesChange: losesChange)
    }
  }
}

// MARK: - Access by name

extension ManagedObject {
  /// The value of an attribute, or the identifier that a to-one relationship leads to.
  ///
  /// - Throws: ``ErrorCode/unknownProperty``, ``ErrorCode/wrongType`` for a to-many relationship, and what loading the
  ///   record throws: ``ErrorCode/objectNotFound``, ``ErrorCode/objectDeleted``, errors of the store.
  public final func value(for name: String) throws -> AttributeValue {
    check()
    return try loadedValue(at: try slot(named: name))
  }

  /// The value of an attribute as a Swift type.
  ///
  /// - Throws: Also ``ErrorCode/wrongType`` when the value is not of that type.
  public final func value<V: AttributeConvertible>(for name: String, as type: V.Type = V.self) throws -> V {
    let value = try value(for: name)
    guard let result = V(attributeValue: value) else {
      throw CoherenceError(.wrongType, "'\(entity.name).\(name)' holds a \(value.typeName), not a \(V.self).")
    }
    return result
  }

  /// Sets an attribute. `nil` clears it.
  ///
  /// - Throws: ``ErrorCode/unknownProperty``, ``ErrorCode/wrongType``, ``ErrorCode/invalidValue``,
  ///   ``ErrorCode/objectDeleted``, and what loading the record throws. The object is unchanged then.
  public final func setValue(_ value: (any AttributeConvertible)?, for name: String) throws {
    try setAttributeValue(value?.attributeValue ?? .null, for: name)
  }

  /// Sets an attribute to a value in its stored form, or a to-one relationship to a reference.
  ///
  /// - Throws: As ``setValue(_:for:)``.
  public final func setAttributeValue(_ value: AttributeValue, for name: String) throws {
    check()
    let property = try entity.property(named: name)
    if let relationship = property as? RelationshipDescription {
      return try setReference(value, for: relationship)
    }
    guard let attribute = property as? AttributeDescription else { return }
    do {
      try write(try attribute.type.checked(value), at: attribute.slot)
    } catch {
      throw named(error, attribute)
    }
  }

  private final func setReference(_ value: AttributeValue, for relationship: RelationshipDescription) throws {
    switch value {
    case .null: try setTarget(nil, of: relationship)
    case .reference(let id):
      guard let context = managedObjectContext else {
        throw CoherenceError(.wrongContext, "An object without a context cannot refer to others by identifier.")
      }
      try setTarget(try context.existingObject(with: id), of: relationship)
    default:
      throw CoherenceError(
        .wrongType, "'\(entity.name).\(relationship.name)' is a relationship; a \(value.typeName) was given.")
    }
  }

  private final func slot(named name: String) throws -> Int {
    switch try entity.property(named: name) {
    case let attribute as AttributeDescription: return attribute.slot
    case let relationship as RelationshipDescription:
      if let slot = relationship.slot { return slot }
      throw CoherenceError(.wrongType, "'\(entity.name).\(name)' is a to-many relationship; use `objects(for:)`.")
    default: throw CoherenceError(.unknownProperty, "'\(entity.name)' has no property '\(name)'.")
    }
  }

  /// Loads the record if the object is a fault.
  ///
  /// - Throws: ``ErrorCode/objectNotFound`` when the record does not exist any more, and errors of the store.
  public final func load() throws {
    check()
    try loadRow()
  }

  /// The value that the record had when the object was last saved or loaded.
  ///
  /// - Throws: As ``value(for:)``.
  public final func committedValue(for name: String) throws -> AttributeValue {
    check()
    let slot = try slot(named: name)
    if let pending { return pending.base?[slot] ?? .null }
    return try loadedValue(at: slot)
  }

  /// The values changed since the last save, by name. To-many relationships are listed as null: see `objects(for:)`.
  public final func changedValues() -> [String: AttributeValue] {
    check()
    guard let pending else { return [:] }
    var result: [String: AttributeValue] = [:]
    for slot in pending.changed {
      if case .position = entity.slots[slot] { continue }
      result[entity.slots[slot].name] = pending[slot]
    }
    for (relationship, changes) in pending.members where !changes.isEmpty { result[relationship.name] = .null }
    return result
  }
}

// MARK: - Codable values

extension ManagedObject {
  /// The value of a `codable` attribute, decoded.
  ///
  /// - Throws: ``ErrorCode/wrongType`` when the text cannot be decoded as that type; as ``value(for:)`` otherwise.
  public final func codable<V: Codable>(for name: String, as type: V.Type = V.self) throws -> V? {
    if let slots = entity.composites[name] { return try CompositeCoding.decode(V.self, from: self, slots: slots) }
    guard let text: String = try value(for: name, as: String?.self) else { return nil }
    do {
      return try JSONText.decode(V.self, from: .string(text))
    } catch {
      throw CoherenceError(.wrongType, "'\(entity.name).\(name)' does not hold a \(V.self).", underlying: error)
    }
  }

  /// Sets a `codable` attribute or a composite.
  ///
  /// - Throws: ``ErrorCode/wrongType`` when the value cannot be encoded; as ``setValue(_:for:)`` otherwise.
  public final func setCodable<V: Codable>(_ value: V?, for name: String) throws {
    if let slots = entity.composites[name] { return try CompositeCoding.encode(value, into: self, slots: slots) }
    guard let value else { return try setAttributeValue(.null, for: name) }
    do {
      try setAttributeValue(.string(try JSONText.encode(value)), for: name)
    } catch let error as EncodingError {
      throw CoherenceError(.wrongType, "The value of '\(entity.name).\(name)' cannot be encoded.", underlying: error)
    }
  }
}
