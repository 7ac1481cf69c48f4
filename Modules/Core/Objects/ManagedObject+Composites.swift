// MARK: - Typed accessors

extension ManagedObject {
  /// The value of a composite, for typed accessors. Neither throws nor traps, like the accessors of attributes. Reads
  /// the parts from the row without decoding. An assignment sets all parts, or no part when a part is invalid.
  ///
  /// If the model declares the parts in another order than the type, an access costs a lookup by name for each part.
  public final subscript<Value>(key: CompositeKey<Value>) -> Value {
    get {
      check()
      let slot = key.slot(in: self)
      if slot >= 0, let row = pending?.draft ?? row {
        var parts = CompositeReader(row, from: slot)
        return Value(reading: &parts)
      }
      return slowComposite(of: key)
    }
    set {
      do {
        let slot = key.slot(in: self)
        guard slot >= 0, let slots = entity.composites[key.name] else {
          return try setComposite(newValue, for: key.name)
        }
        try setParts(of: newValue, at: Array(slots), for: key.name)
      } catch {
        becomeUnavailable(error, losesChange: true)
      }
    }
  }

  /// The value of a composite of a fault, or of one whose parts the model declares in another order than the type.
  @inline(never) private final func slowComposite<Value>(of key: CompositeKey<Value>) -> Value {
    do {
      return try composite(for: key.name)
    } catch {
      becomeUnavailable(error)
      let slots = (try? CompositeLayout(Value.self, key.name, in: entity))?.slots ?? []
      var parts = CompositeReader([], defaults: slots.map { entity.defaultValues[$0] })
      return Value(reading: &parts)
    }
  }
}

// MARK: - Access by name

extension ManagedObject {
  /// Returns the value of a composite. Loads a fault. To be called inside the context. Looks the parts up by name,
  /// unlike the typed accessor.
  ///
  /// - Throws: ``ErrorCode/unknownProperty``; ``ErrorCode/wrongType`` when the composite has other parts than the type;
  ///   the errors of ``value(for:)`` for an unavailable record.
  public final func composite<Value: CompositeValue>(for name: String, as type: Value.Type = Value.self) throws -> Value
  {
    check()
    let slots = try CompositeLayout(Value.self, name, in: entity).slots
    let values = try slots.map { try loadedValue(at: $0) }
    var parts = CompositeReader(values, defaults: slots.map { entity.defaultValues[$0] })
    return Value(reading: &parts)
  }

  /// Sets all parts of a composite; `nil` clears them. Loads a fault first.
  ///
  /// - Throws: As ``composite(for:as:)``, and ``ErrorCode/invalidValue``. A call that throws leaves the object
  ///   unchanged.
  public final func setComposite<Value: CompositeValue>(_ value: Value, for name: String) throws {
    check()
    try setParts(of: value, at: try CompositeLayout(Value.self, name, in: entity).slots, for: name)
  }

  /// Sets all parts of a composite.
  ///
  /// - Parameter slots: The slots of the parts, in the type's order.
  private final func setParts<Value: CompositeValue>(of value: Value, at slots: [Int], for name: String) throws {
    check()
    var writer = CompositeWriter()
    value.write(to: &writer)
    guard writer.values.count == slots.count else {
      throw CoherenceError(
        .wrongType,
        "The type of '\(entity.name).\(name)' writes \(writer.values.count) parts and declares \(slots.count); "
          + "let `write(to:)` write every part of `compositeParts`.")
    }
    try setValues(writer.values, at: slots)
  }

  /// Sets several attributes, after all values are checked.
  final func setValues(_ values: [AttributeValue], at slots: [Int]) throws {
    var checked: [(slot: Int, value: AttributeValue)] = []
    for (slot, value) in zip(slots, values) {
      guard case .attribute(let attribute) = entity.slots[slot] else { continue }
      checked.append((slot, try checkedValue(value, of: attribute)))
    }
    for (slot, value) in checked { try write(value, at: slot) }
  }
}
