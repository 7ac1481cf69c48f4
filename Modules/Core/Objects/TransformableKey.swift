/// Names a transformable attribute for a typed accessor.
///
/// ```swift
/// static let colorKey = TransformableKey<Color>("color")
/// var color: Color? {
///   get { self[Self.colorKey] }
///   set { self[Self.colorKey] = newValue }
/// }
/// ```
/// The model names the transformer of the attribute, which is registered in ``AttributeTransformers``. May be shared
/// between threads.
public final class TransformableKey<Value>: PropertyKey, @unchecked Sendable {
  // Sendable: the superclass is, and this class adds no property.

  /// Makes a key for the property of a name.
  public override init(_ name: String) { super.init(name) }

  override func location(in entity: EntityDescription) -> Location? {
    guard let attribute = entity.attribute(named: name), case .transformable = attribute.type else { return nil }
    return Location(index: attribute.slot, entity: attribute.entity)
  }
}
