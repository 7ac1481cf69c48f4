public import CoherenceCore

/// Reads a field's value from a model, and writes the value into memory for a new model.
@usableFromInline
struct FieldAccess<Model>: Sendable {
  /// Returns the value of a model, through the key path.
  @usableFromInline let get: @Sendable (Model) throws -> AttributeValue
  /// The location of the property in a model's memory; `nil` for a computed property and for a property of an object
  /// that the model refers to.
  @usableFromInline let location: FieldLocation?

  /// The access to a property with an attribute type.
  @inlinable init<Value: AttributeConvertible>(_ keyPath: any KeyPath<Model, Value> & Sendable) {
    get = { $0[keyPath: keyPath].attributeValue }
    location = MemoryLayout<Model>.offset(of: keyPath).map { FieldLocation(offset: $0, Value.self) }
  }

  /// The access to a property with JSON as its stored form.
  init<Value: Codable & SendableMetatype>(json keyPath: any KeyPath<Model, Value> & Sendable) {
    get = { try JSONText.attributeValue(of: $0[keyPath: keyPath]) }
    location = MemoryLayout<Model>.offset(of: keyPath).map { FieldLocation(offset: $0, json: Value.self) }
  }
}

/// The location of a stored property in a model's memory.
///
/// The location does not know the model's type, so that the work for each record asks the runtime for no type metadata.
@usableFromInline
struct FieldLocation: Sendable {
  // Safety of `assumingMemoryBound`: `MemoryLayout.offset(of:)` returns an offset for stored properties alone. The
  // address is in a model whose property is initialised, or for `initialize` in memory for a model.
  /// The distance from the beginning of the model, in bytes.
  @usableFromInline let offset: Int
  /// The number of bytes that the property takes.
  @usableFromInline let size: Int
  /// The property's type.
  @usableFromInline let type: ObjectIdentifier
  /// Returns the value at an address.
  @usableFromInline let load: @Sendable (UnsafeRawPointer) throws -> AttributeValue
  /// Initialises the property at an address from a value, which is moved out of its memory. Returns whether the value
  /// fits.
  @usableFromInline let initialize: @Sendable (UnsafeMutableRawPointer, UnsafeMutablePointer<AttributeValue>) -> Bool
  /// Deinitialises the property of a model that will not be completed.
  @usableFromInline let deinitialize: @Sendable (UnsafeMutableRawPointer) -> Void

  @inlinable init<Value: AttributeConvertible>(offset: Int, _ type: Value.Type) {
    self.offset = offset
    self.type = ObjectIdentifier(Value.self)
    size = MemoryLayout<Value>.size
    load = { $0.assumingMemoryBound(to: Value.self).pointee.attributeValue }
    initialize = { address, value in
      guard let value = Value(attributeValue: value.move()) else { return false }
      address.initializeMemory(as: Value.self, to: value)
      return true
    }
    deinitialize = { $0.assumingMemoryBound(to: Value.self).deinitialize(count: 1) }
  }

  init<Value: Codable & SendableMetatype>(offset: Int, json type: Value.Type) {
    self.offset = offset
    self.type = ObjectIdentifier(Value.self)
    size = MemoryLayout<Value>.size
    load = { try JSONText.attributeValue(of: $0.assumingMemoryBound(to: Value.self).pointee) }
    initialize = { address, value in
      guard let value = try? JSONText.decode(Value.self, from: value.move()) else { return false }
      address.initializeMemory(as: Value.self, to: value)
      return true
    }
    deinitialize = { $0.assumingMemoryBound(to: Value.self).deinitialize(count: 1) }
  }
}
