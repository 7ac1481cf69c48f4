// MARK: - Typed accessors

extension ManagedObject {
  /// The value of a transformable attribute, for typed accessors; `nil` for no value. Neither throws nor traps: for a
  /// missing transformer, for a transformer with values of another type, and for data or a value that the transformer
  /// refuses, the context reports the failure in ``ManagedObjectContext/reportedErrors``. A read then returns `nil`,
  /// and an assignment changes nothing.
  ///
  /// Each read and each assignment calls the transformer.
  public final subscript<Value>(key: TransformableKey<Value>) -> Value? {
    get {
      // A failed load of the object is reported here, as in every accessor. Only a value needs the transformer.
      guard case .data = accessibleValue(of: key) else { return nil }
      do {
        return try transformed(for: key.name)
      } catch {
        becomeUnavailable(error)
        return nil
      }
    }
    set {
      do {
        try setTransformed(newValue, for: key.name)
      } catch {
        becomeUnavailable(error, losesChange: true)
      }
    }
  }
}

// MARK: - Access by name

extension ManagedObject {
  /// Returns the value of a transformable attribute, made by the registered transformer; `nil` for no value. Loads a
  /// fault.
  ///
  /// - Throws: ``ErrorCode/unknownTransformer`` for a name that ``AttributeTransformers`` does not have;
  ///   ``ErrorCode/wrongType`` when the transformer refuses the data or has values of another type, and for an
  ///   attribute of another kind; as ``value(for:)`` otherwise.
  public final func transformed<Value>(for name: String, as type: Value.Type = Value.self) throws -> Value? {
    let transformer = try transformer(of: name)
    guard case .data(let data) = try value(for: name) else { return nil }
    let result: Value?
    do {
      result = try transformer.value(from: data, as: Value.self)
    } catch {
      throw CoherenceError(
        .wrongType, "The transformer of '\(entity.name).\(name)' refuses the stored data; see the underlying error.",
        underlying: error)
    }
    if let result { return result }
    throw wrongTransformer(of: name, for: Value.self)
  }

  /// Sets a transformable attribute by the registered transformer; `nil` clears it. Loads a fault first.
  ///
  /// - Throws: As ``transformed(for:as:)``, and as ``setValue(_:for:)``. A call that throws leaves the object
  ///   unchanged.
  public final func setTransformed<Value>(_ value: Value?, for name: String) throws {
    let transformer = try transformer(of: name)
    guard let value else { return try setAttributeValue(.null, for: name) }
    let stored: AttributeValue?
    do {
      stored = try transformer.data(fromAny: value).map(AttributeValue.data)
    } catch {
      throw CoherenceError(
        .wrongType, "The transformer of '\(entity.name).\(name)' refuses the value; see the underlying error.",
        underlying: error)
    }
    guard let stored else { throw wrongTransformer(of: name, for: Value.self) }
    try setAttributeValue(stored, for: name)
  }

  /// Returns the transformer of an attribute.
  private final func transformer(of name: String) throws(CoherenceError) -> any AttributeTransformer {
    guard let attribute = entity.attribute(named: name) else {
      let property = try entity.property(named: name)
      throw CoherenceError(
        .wrongType, "'\(entity.name).\(property.name)' is no attribute; use a key for that kind of property.")
    }
    return try AttributeTransformers.transformer(of: attribute)
  }

  /// The error for a transformer whose values are of another type than the caller's.
  private final func wrongTransformer(of name: String, for type: Any.Type) -> CoherenceError {
    CoherenceError(
      .wrongType,
      "The transformer of '\(entity.name).\(name)' has values of another type than \(type); ask for its type.")
  }
}
