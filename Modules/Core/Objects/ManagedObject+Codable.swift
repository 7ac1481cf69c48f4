// MARK: - Typed accessors

extension ManagedObject {
  /// The value of a `codable` attribute, for typed accessors. Neither throws nor traps: for an undecodable text, the
  /// accessor reports a failure and returns the key's default.
  ///
  /// The object keeps the decoded value as long as the stored text stays the same, so that repeated reads compare the
  /// text and decode nothing. A decoded instance of a class is the same instance at each read. Changes inside the
  /// instance are not saved until it is assigned again. Each assignment encodes.
  public final subscript<Value>(key: CodableKey<Value>) -> Value {
    get {
      let value = accessibleValue(of: key)
      guard case .string(let text) = value else { return missingValue(of: key) }
      do {
        return try decodedValue(text, at: key.slot(in: self))
      } catch {
        becomeUnavailable(undecodable(key.name, Value.self, error))
        return key.defaultValue
      }
    }
    set {
      do {
        writeAccessible(try JSONText.attributeValue(of: newValue), of: key)
      } catch {
        becomeUnavailable(unencodable(key.name, error), losesChange: true)
      }
    }
  }

  /// The value of a codable attribute without a stored value. For an optional type, the key's default. For any other
  /// type, the model's default, or else the key's.
  private final func missingValue<Value>(of key: CodableKey<Value>) -> Value {
    guard !key.acceptsNull, case .string(let text) = declaredDefault(of: key),
      let value = try? JSONText.decode(Value.self, from: .string(text))
    else { return key.defaultValue }
    return value
  }
}

// MARK: - Access by name

extension ManagedObject {
  /// Returns the decoded value of a `codable` attribute or a composite; `nil` for a missing value. Loads a fault. Each
  /// call decodes again. A ``CompositeValue`` is read without JSON. To be called inside the context.
  ///
  /// - Throws: ``ErrorCode/wrongType`` when the text cannot be decoded as that type; as ``value(for:)`` otherwise.
  public final func codable<V: Codable>(for name: String, as type: V.Type = V.self) throws -> V? {
    if let slots = entity.composites[name] {
      if let type = V.self as? any CompositeValue.Type { return try optionalComposite(type, for: name) as? V }
      return try CompositeCoding.decode(V.self, from: self, slots: slots)
    }
    guard let text: String = try value(for: name, as: String?.self) else { return nil }
    do {
      return try JSONText.decode(V.self, from: .string(text))
    } catch {
      throw undecodable(name, V.self, error)
    }
  }

  /// Encodes a value into a `codable` attribute or a composite. `nil` clears the attribute, or all parts. A
  /// ``CompositeValue`` is written without JSON.
  ///
  /// - Throws: ``ErrorCode/wrongType`` when the value cannot be encoded, or a part of it does not fit the composite; as
  ///   ``setValue(_:for:)`` otherwise. A call that throws leaves the object unchanged.
  public final func setCodable<V: Codable>(_ value: V?, for name: String) throws {
    if let slots = entity.composites[name] {
      if let type = V.self as? any CompositeValue.Type { return try setComposite(value, as: type, for: name) }
      return try CompositeCoding.encode(value, into: self, slots: slots)
    }
    guard let value else { return try setAttributeValue(.null, for: name) }
    do {
      try setAttributeValue(.string(try JSONText.encode(value)), for: name)
    } catch let error as EncodingError {
      throw unencodable(name, error)
    }
  }

  // The type of a composite is known at run time only. The next two functions give it a name as a generic parameter.

  /// The value of a composite of a type; `nil` for a missing value.
  private final func optionalComposite<Value: CompositeValue>(_ type: Value.Type, for name: String) throws -> Value? {
    try composite(for: name, as: Value?.self)
  }

  /// Sets a composite to a value of a type; `nil` clears all parts.
  private final func setComposite<Value: CompositeValue>(_ value: Any?, as type: Value.Type, for name: String) throws {
    try setComposite(value as? Value, for: name)
  }

  private final func undecodable(_ name: String, _ type: Any.Type, _ error: any Error) -> CoherenceError {
    CoherenceError(
      .wrongType,
      "The value of '\(entity.name).\(name)' cannot be decoded as a \(type); ask for the type that was encoded.",
      underlying: error)
  }

  private final func unencodable(_ name: String, _ error: any Error) -> CoherenceError {
    CoherenceError(
      .wrongType, "The value of '\(entity.name).\(name)' cannot be encoded; see the underlying error.",
      underlying: error)
  }
}
