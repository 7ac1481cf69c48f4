/// The key paths of the entities in a value, chosen by the types of its properties. The macros generate calls of this
/// type; user code does not need it.
// Sendable: the key paths are constant, and the key paths that the macros generate capture nothing.
public struct NestedPlaces<Root>: @unchecked Sendable {
  /// The key paths, in the order of the properties.
  public let keyPaths: [PartialIdentifiableKeyPath<Root>]

  /// - Parameter places: The key paths of each property.
  public init(_ places: [PartialIdentifiableKeyPath<Root>]...) {
    keyPaths = places.flatMap { $0 }
  }
}

extension NestedPlaces {
  /// A property without entities.
  @inlinable public static func at<Part>(_ place: WritableKeyPath<Root, Part>) -> [PartialIdentifiableKeyPath<Root>] {
    []
  }

  /// An entity.
  @inlinable public static func at<T: Identifiable & Sendable>(
    _ place: WritableKeyPath<Root, T>
  ) -> [PartialIdentifiableKeyPath<Root>] { [.init(place)] }

  /// An optional entity.
  @inlinable public static func at<T: Identifiable & Sendable>(
    _ place: WritableKeyPath<Root, T?>
  ) -> [PartialIdentifiableKeyPath<Root>] { [.init(place)] }

  // MARK: Many

  /// A collection of entities.
  @inlinable public static func at<C: MutableCollection>(
    _ place: WritableKeyPath<Root, C>
  ) -> [PartialIdentifiableKeyPath<Root>] where C.Element: Identifiable & Sendable { [.init(place)] }

  /// An optional collection of entities.
  @inlinable public static func at<C: MutableCollection>(
    _ place: WritableKeyPath<Root, C?>
  ) -> [PartialIdentifiableKeyPath<Root>] where C.Element: Identifiable & Sendable { [.init(place)] }

  /// A collection of optional entities.
  @inlinable public static func at<C: MutableCollection, T: Identifiable & Sendable>(
    _ place: WritableKeyPath<Root, C>
  ) -> [PartialIdentifiableKeyPath<Root>] where C.Element == T? { [.init(optionals: place)] }

  /// A collection of collections of entities.
  @inlinable public static func at<C: MutableCollection>(
    _ place: WritableKeyPath<Root, C>
  ) -> [PartialIdentifiableKeyPath<Root>]
  where C.Element: MutableCollection, C.Element.Element: Identifiable & Sendable { [.init(lists: place)] }

  /// A set of entities.
  @inlinable public static func at<T: Identifiable & Sendable & Hashable>(
    _ place: WritableKeyPath<Root, Set<T>>
  ) -> [PartialIdentifiableKeyPath<Root>] { [.init(place)] }

  /// An optional set of entities.
  @inlinable public static func at<T: Identifiable & Sendable & Hashable>(
    _ place: WritableKeyPath<Root, Set<T>?>
  ) -> [PartialIdentifiableKeyPath<Root>] { [.init(place)] }

  /// A dictionary with entities as values.
  @inlinable public static func at<Key: Hashable, T: Identifiable & Sendable>(
    _ place: WritableKeyPath<Root, [Key: T]>
  ) -> [PartialIdentifiableKeyPath<Root>] { [.init(place)] }

  /// A dictionary with collections of entities as values.
  @inlinable public static func at<Key: Hashable, C: MutableCollection>(
    _ place: WritableKeyPath<Root, [Key: C]>
  ) -> [PartialIdentifiableKeyPath<Root>] where C.Element: Identifiable & Sendable { [.init(lists: place)] }

  // MARK: Wrapped

  /// A wrapper of entities.
  @inlinable public static func at<W: EntityWrapper>(
    _ place: WritableKeyPath<Root, W>
  ) -> [PartialIdentifiableKeyPath<Root>] { [.init(wrapper: place)] }

  /// An optional wrapper of entities.
  @inlinable public static func at<W: EntityWrapper>(
    _ place: WritableKeyPath<Root, W?>
  ) -> [PartialIdentifiableKeyPath<Root>] { [.init(wrapper: place)] }

  /// A collection of wrappers of entities.
  @inlinable public static func at<C: MutableCollection>(
    _ place: WritableKeyPath<Root, C>
  ) -> [PartialIdentifiableKeyPath<Root>] where C.Element: EntityWrapper { [.init(wrappers: place)] }

  /// An optional collection of wrappers of entities.
  @inlinable public static func at<C: MutableCollection>(
    _ place: WritableKeyPath<Root, C?>
  ) -> [PartialIdentifiableKeyPath<Root>] where C.Element: EntityWrapper { [.init(wrappers: place)] }
}
