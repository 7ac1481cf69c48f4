/// A name under which an entity, or a collection of entities, can be found without knowing its identifier.
///
/// Two keys are the same when name and type are: one name may be used for several types.
public struct AliasKey<T>: Hashable, Sendable {
  /// The name, unique among the aliases of the type.
  public let name: String

  /// Makes a key.
  ///
  /// - Parameter value: The name, unique among the aliases of the type.
  public init(named value: String) {
    name = value
  }

  /// Makes a key.
  ///
  /// - Parameter name: The name, unique among the aliases of the type.
  public init(_ name: String) {
    self.name = name
  }
}
