public import CoherenceCore
import CoherenceReconciliation

/// How a field's value is got out of a model and put into one.
@usableFromInline
struct FieldAccess<Model>: Sendable {
  /// The value of a model, through the key path.
  @usableFromInline let get: @Sendable (Model) throws -> AttributeValue
  /// Where the property is stored in a model; `nil` when it has no place of its own.
  @usableFromInline let place: FieldPlace?

  /// A property that can be an attribute.
  @inlinable init<Value: AttributeConvertible>(_ keyPath: any KeyPath<Model, Value> & Sendable) {
    get = { $0[keyPath: keyPath].attributeValue }
    place = MemoryLayout<Model>.offset(of: keyPath).map { FieldPlace(offset: $0, Value.self) }
  }

  /// A property that is kept as JSON.
  init<Value: Codable & SendableMetatype>(json keyPath: any KeyPath<Model, Value> & Sendable) {
    get = { try JSONText.attributeValue(of: $0[keyPath: keyPath]) }
    place = MemoryLayout<Model>.offset(of: keyPath).map { FieldPlace(offset: $0, json: Value.self) }
  }
}

/// A property that is stored in a model itself, by its place in the model's memory.
///
/// It does not know the model's type: what is done for every record is done without asking the runtime for types.
@usableFromInline
struct FieldPlace: Sendable {
  @usableFromInline let offset: Int
  /// The property's type.
  @usableFromInline let type: ObjectIdentifier
  /// The value at the property's place.
  @usableFromInline let load: @Sendable (UnsafeRawPointer) throws -> AttributeValue
  /// Makes the property of a value, which is moved out of where it was, at its place in a model that is being made.
  /// Answers whether the value fits.
  @usableFromInline let initialize: @Sendable (UnsafeMutableRawPointer, UnsafeMutablePointer<AttributeValue>) -> Bool
  /// Takes the property back out of a model that is being made.
  @usableFromInline let deinitialize: @Sendable (UnsafeMutableRawPointer) -> Void

  @inlinable init<Value: AttributeConvertible>(offset: Int, _ type: Value.Type) {
    self.offset = offset
    self.type = ObjectIdentifier(Value.self)
    load = { $0.assumingMemoryBound(to: Value.self).pointee.attributeValue }
    initialize = { place, value in
      guard let value = Value(attributeValue: value.move()) else { return false }
      place.initializeMemory(as: Value.self, to: value)
      return true
    }
    deinitialize = { $0.assumingMemoryBound(to: Value.self).deinitialize(count: 1) }
  }

  init<Value: Codable & SendableMetatype>(offset: Int, json type: Value.Type) {
    self.offset = offset
    self.type = ObjectIdentifier(Value.self)
    load = { try JSONText.attributeValue(of: $0.assumingMemoryBound(to: Value.self).pointee) }
    initialize = { place, value in
      guard let value = try? JSONText.decode(Value.self, from: value.move()) else { return false }
      place.initializeMemory(as: Value.self, to: value)
      return true
    }
    deinitialize = { $0.assumingMemoryBound(to: Value.self).deinitialize(count: 1) }
  }
}
