/// Names a composite for a typed accessor.
///
/// ```swift
/// static let sizeKey = CompositeKey<Size?>("size")
/// ```
/// May be shared between threads.
public final class CompositeKey<Value: CompositeValue>: PropertyKey, @unchecked Sendable {
  // Sendable: the superclass is, and this class adds no property.

  /// Makes a key for the property of a name.
  public override init(_ name: String) { super.init(name) }

  /// The first slot of a composite with the parts of the type in the type's order; `nil` for any other composite.
  override func location(in entity: EntityDescription) -> Location? {
    guard let slots = entity.composites[name], let found = try? CompositeLayout(Value.self, name, in: entity),
      found.slots.elementsEqual(slots), case .attribute(let attribute) = entity.slots[slots.lowerBound]
    else { return nil }
    return Location(index: slots.lowerBound, entity: attribute.entity)
  }
}

/// The slots of a composite in the order in which a type reads and writes its parts.
struct CompositeLayout {
  let slots: [Int]

  /// Finds the slots of a composite's parts by their names.
  ///
  /// - Throws: ``ErrorCode/unknownProperty`` when the entity has no such composite; ``ErrorCode/wrongType`` when the
  ///   parts differ from the type's parts.
  init<Value: CompositeValue>(_ type: Value.Type, _ name: String, in entity: EntityDescription) throws(CoherenceError) {
    guard let range = entity.composites[name] else {
      let property = try entity.property(named: name)
      throw CoherenceError(
        .wrongType, "'\(entity.name).\(property.name)' is no composite; use a key for that kind of property.")
    }
    let parts = Value.compositeParts
    let stored = entity.slots[range].map(\.name)
    slots = parts.compactMap { part in
      guard let attribute = entity.attribute(named: "\(name).\(part.name)"),
        attribute.type.storage == part.type.storage
      else { return nil }
      return attribute.slot
    }
    guard slots.count == parts.count, slots.count == range.count else {
      throw CoherenceError(
        .wrongType,
        "The composite '\(entity.name).\(name)' has the parts \(stored.joined(separator: ", ")), which are not those of "
          + "\(Value.self); declare the composite with `CompositeAttribute(_:of:)`.")
    }
  }
}
