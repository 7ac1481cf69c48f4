/// The key paths of the properties with entities. A macro sees no types; it generates a call of `at` for each property,
/// and the compiler chooses the overload that fits the type. User code does not need this type.
// Sendable: the key paths are constant, and the key paths that the macros generate capture nothing.
public struct NestedPlaces<Root>: @unchecked Sendable {
  /// The key paths, in the order of the properties.
  public let keyPaths: [PartialIdentifiableKeyPath<Root>]

  /// - Parameter keyPaths: The key paths of each property.
  public init(_ keyPaths: [PartialIdentifiableKeyPath<Root>]...) {
    self.keyPaths = keyPaths.flatMap { $0 }
  }
}

extension NestedPlaces {
  /// A property without entities, or of a type without another overload. Its entities are not found.
  @inlinable public static func at<Part>(_ keyPath: WritableKeyPath<Root, Part>) -> [PartialIdentifiableKeyPath<Root>] {
    []
  }

  /// An entity.
  @inlinable public static func at<T: Identifiable & Sendable>(
    _ keyPath: WritableKeyPath<Root, T>
  ) -> [PartialIdentifiableKeyPath<Root>] { [.init(keyPath)] }

  /// An optional entity.
  @inlinable public static func at<T: Identifiable & Sendable>(
    _ keyPath: WritableKeyPath<Root, T?>
  ) -> [PartialIdentifiableKeyPath<Root>] { [.init(keyPath)] }

  // MARK: Many

  /// A collection of entities.
  @inlinable public static func at<C: MutableCollection>(
    _ keyPath: WritableKeyPath<Root, C>
  ) -> [PartialIdentifiableKeyPath<Root>] where C.Element: Identifiable & Sendable { [.init(keyPath)] }

  /// An optional collection of entities.
  @inlinable public static func at<C: MutableCollection>(
    _ keyPath: WritableKeyPath<Root, C?>
  ) -> [PartialIdentifiableKeyPath<Root>] where C.Element: Identifiable & Sendable { [.init(keyPath)] }

  /// A collection of optional entities.
  @inlinable public static func at<C: MutableCollection, T: Identifiable & Sendable>(
    _ keyPath: WritableKeyPath<Root, C>
  ) -> [PartialIdentifiableKeyPath<Root>] where C.Element == T? { [.init(optionals: keyPath)] }

  /// An optional collection of optional entities.
  @inlinable public static func at<C: MutableCollection, T: Identifiable & Sendable>(
    _ keyPath: WritableKeyPath<Root, C?>
  ) -> [PartialIdentifiableKeyPath<Root>] where C.Element == T? { [.init(optionals: keyPath)] }

  /// A collection of collections of entities.
  @inlinable public static func at<C: MutableCollection>(
    _ keyPath: WritableKeyPath<Root, C>
  ) -> [PartialIdentifiableKeyPath<Root>]
  where C.Element: MutableCollection, C.Element.Element: Identifiable & Sendable { [.init(lists: keyPath)] }

  /// An optional collection of collections of entities.
  @inlinable public static func at<C: MutableCollection>(
    _ keyPath: WritableKeyPath<Root, C?>
  ) -> [PartialIdentifiableKeyPath<Root>]
  where C.Element: MutableCollection, C.Element.Element: Identifiable & Sendable { [.init(lists: keyPath)] }

  /// A set of entities.
  @inlinable public static func at<T: Identifiable & Sendable & Hashable>(
    _ keyPath: WritableKeyPath<Root, Set<T>>
  ) -> [PartialIdentifiableKeyPath<Root>] { [.init(keyPath)] }

  /// An optional set of entities.
  @inlinable public static func at<T: Identifiable & Sendable & Hashable>(
    _ keyPath: WritableKeyPath<Root, Set<T>?>
  ) -> [PartialIdentifiableKeyPath<Root>] { [.init(keyPath)] }

  /// A dictionary with entities as values.
  @inlinable public static func at<Key: Hashable, T: Identifiable & Sendable>(
    _ keyPath: WritableKeyPath<Root, [Key: T]>
  ) -> [PartialIdentifiableKeyPath<Root>] { [.init(keyPath)] }

  /// An optional dictionary with entities as values.
  @inlinable public static func at<Key: Hashable, T: Identifiable & Sendable>(
    _ keyPath: WritableKeyPath<Root, [Key: T]?>
  ) -> [PartialIdentifiableKeyPath<Root>] { [.init(keyPath)] }

  /// A dictionary with collections of entities as values.
  @inlinable public static func at<Key: Hashable, C: MutableCollection>(
    _ keyPath: WritableKeyPath<Root, [Key: C]>
  ) -> [PartialIdentifiableKeyPath<Root>] where C.Element: Identifiable & Sendable { [.init(lists: keyPath)] }

  /// An optional dictionary with collections of entities as values.
  @inlinable public static func at<Key: Hashable, C: MutableCollection>(
    _ keyPath: WritableKeyPath<Root, [Key: C]?>
  ) -> [PartialIdentifiableKeyPath<Root>] where C.Element: Identifiable & Sendable { [.init(lists: keyPath)] }

  // MARK: Wrapped

  /// A wrapper of entities.
  @inlinable public static func at<W: EntityWrapper>(
    _ keyPath: WritableKeyPath<Root, W>
  ) -> [PartialIdentifiableKeyPath<Root>] { [.init(wrapper: keyPath)] }

  /// An optional wrapper of entities.
  @inlinable public static func at<W: EntityWrapper>(
    _ keyPath: WritableKeyPath<Root, W?>
  ) -> [PartialIdentifiableKeyPath<Root>] { [.init(wrapper: keyPath)] }

  /// A collection of wrappers of entities.
  @inlinable public static func at<C: MutableCollection>(
    _ keyPath: WritableKeyPath<Root, C>
  ) -> [PartialIdentifiableKeyPath<Root>] where C.Element: EntityWrapper { [.init(wrappers: keyPath)] }

  /// An optional collection of wrappers of entities.
  @inlinable public static func at<C: MutableCollection>(
    _ keyPath: WritableKeyPath<Root, C?>
  ) -> [PartialIdentifiableKeyPath<Root>] where C.Element: EntityWrapper { [.init(wrappers: keyPath)] }
}
