/// Names a `codable` attribute for a typed accessor.
///
/// ```swift
/// static let tagsKey = CodableKey<[String]>("tags")
/// static let layoutKey = CodableKey<Layout>("layout", default: Layout())
/// ```
/// A typed accessor neither throws nor traps, so that the key has a default for an attribute without a value. May be
/// shared between threads.
public final class CodableKey<Value: Codable & SendableMetatype>: PropertyKey, @unchecked Sendable {
  // Sendable: the superclass is, and the closure is `@Sendable`.
  private let makeDefault: @Sendable () -> Value
  /// Whether the type represents a missing value.
  let acceptsNull: Bool

  /// Makes a key of any type.
  ///
  /// - Parameter makeDefault: The value that the accessor returns when the attribute has no value, and when its text
  ///   cannot be decoded. For a missing value of a type that is not optional, a default in the model precedes it.
  ///   Evaluated each time, on the thread of the access.
  public init(_ name: String, default makeDefault: @autoclosure @escaping @Sendable () -> Value) {
    self.makeDefault = makeDefault
    acceptsNull = Value.self is any ExpressibleByNilLiteral.Type
    super.init(name)
  }

  /// Makes a key of an optional type, whose accessor returns `nil` for an attribute without a value.
  public convenience init(_ name: String) where Value: ExpressibleByNilLiteral { self.init(name, default: nil) }

  /// Makes a key of a list or a set, whose accessor returns an empty list for an attribute without a value.
  public convenience init(_ name: String) where Value: ExpressibleByArrayLiteral { self.init(name, default: []) }

  /// Makes a key of a dictionary, whose accessor returns an empty dictionary for an attribute without a value.
  public convenience init(_ name: String) where Value: ExpressibleByDictionaryLiteral {
    self.init(name, default: [:])
  }

  /// The value of the accessor for an attribute with neither a value nor a default in the model.
  var defaultValue: Value { makeDefault() }

  override func location(in entity: EntityDescription) -> Location? {
    guard let attribute = entity.attribute(named: name), attribute.type == .codable else { return nil }
    return Location(index: attribute.slot, entity: attribute.entity)
  }
}
