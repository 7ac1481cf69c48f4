public import CoherenceCore

/// How a field's value is got out of a model and put into one.
///
/// A property that is stored in the model itself has a place in its memory, and is read and written there. Any other
/// property is read through its key path.
@usableFromInline
struct FieldAccess<Model>: Sendable {
  /// The value of a model.
  @usableFromInline let get: @Sendable (Model) throws -> AttributeValue
  /// The property's place in a model; `nil` when it has none of its own.
  @usableFromInline let offset: Int?
  /// The property's type.
  @usableFromInline let type: ObjectIdentifier
  /// The value at the property's place.
  @usableFromInline let load: @Sendable (UnsafeRawPointer) throws -> AttributeValue
  /// Makes the property of a value, at its place in a model that is being made. Answers whether the value fits.
  @usableFromInline let initialize: @Sendable (UnsafeMutableRawPointer, UnsafePointer<AttributeValue>) -> Bool
  /// Takes the property back out of a model that is being made.
  @usableFromInline let deinitialize: @Sendable (UnsafeMutableRawPointer) -> Void

  /// A property that can be an attribute.
  @inlinable init<Value: AttributeConvertible>(_ keyPath: any KeyPath<Model, Value> & Sendable) {
    get = { $0[keyPath: keyPath].attributeValue }
    offset = MemoryLayout<Model>.offset(of: keyPath)
    type = ObjectIdentifier(Value.self)
    load = { $0.assumingMemoryBound(to: Value.self).pointee.attributeValue }
    initialize = { place, value in
      guard let value = Value(attributeValue: value.pointee) else { return false }
      place.initializeMemory(as: Value.self, to: value)
      return true
    }
    deinitialize = { $0.assumingMemoryBound(to: Value.self).deinitialize(count: 1) }
  }

  /// A property that is kept as JSON.
  init<Value: Codable & SendableMetatype>(json keyPath: any KeyPath<Model, Value> & Sendable) {
    get = { try JSONText.encoded($0[keyPath: keyPath]) }
    offset = MemoryLayout<Model>.offset(of: keyPath)
    type = ObjectIdentifier(Value.self)
    load = { try JSONText.encoded($0.assumingMemoryBound(to: Value.self).pointee) }
    initialize = { place, value in
      guard let value = try? JSONText.decoded(Value.self, from: value.pointee) else { return false }
      place.initializeMemory(as: Value.self, to: value)
      return true
    }
    deinitialize = { $0.assumingMemoryBound(to: Value.self).deinitialize(count: 1) }
  }
}
