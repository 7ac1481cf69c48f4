/// The places of entities in a value, found by the types of its properties. The macros write calls of this; there is no
/// need to do so by hand.
// Sendable because what is in it never changes, and the key paths that the macros write capture nothing.
public struct NestedPlaces<Root>: @unchecked Sendable {
  /// The places, in the order of the properties.
  public let keyPaths: [PartialIdentifiableKeyPath<Root>]

  /// - Parameter places: Those of one property each.
  public init(_ places: [PartialIdentifiableKeyPath<Root>]...) {
    keyPaths = places.flatMap { $0 }
  }
}

extension NestedPlaces {
  /// Something that holds no entities.
  @inlinable public static func at<Part>(_ place: WritableKeyPath<Root, Part>) -> [PartialIdentifiableKeyPath<Root>] {
    []
  }

  /// An entity.
  @inlinable public static func at<T: Identifiable & Sendable>(
    _ place: WritableKeyPath<Root, T>
  ) -> [PartialIdentifiableKeyPath<Root>] { [.init(place)] }

  /// An entity that may be missing.
  @inlinable public static func at<T: Identifiable & Sendable>(
    _ place: WritableKeyPath<Root, T?>
  ) -> [PartialIdentifiableKeyPath<Root>] { [.init(place)] }

  // MARK: Many

  /// A collection of entities.
  @inlinable public static func at<C: MutableCollection>(
    _ place: WritableKeyPath<Root, C>
  ) -> [PartialIdentifiableKeyPath<Root>] where C.Element: Identifiable & Sendable { [.init(place)] }

  /// A collection of entities that may be missing.
  @inlinable public static func at<C: MutableCollection>(
    _ place: WritableKeyPath<Root, C?>
  ) -> [PartialIdentifiableKeyPath<Root>] where C.Element: Identifiable & Sendable { [.init(place)] }

  /// A collection of entities of which some may be missing.
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

  /// A set of entities that may be missing.
  @inlinable public static func at<T: Identifiable & Sendable & Hashable>(
    _ place: WritableKeyPath<Root, Set<T>?>
  ) -> [PartialIdentifiableKeyPath<Root>] { [.init(place)] }

  /// Entities by keys.
  @inlinable public static func at<Key: Hashable, T: Identifiable & Sendable>(
    _ place: WritableKeyPath<Root, [Key: T]>
  ) -> [PartialIdentifiableKeyPath<Root>] { [.init(place)] }

  /// Collections of entities by keys.
  @inlinable public static func at<Key: Hashable, C: MutableCollection>(
    _ place: WritableKeyPath<Root, [Key: C]>
  ) -> [PartialIdentifiableKeyPath<Root>] where C.Element: Identifiable & Sendable { [.init(lists: place)] }

  // MARK: Wrapped

  /// A wrapper of entities.
  @inlinable public static func at<W: EntityWrapper>(
    _ place: WritableKeyPath<Root, W>
  ) -> [PartialIdentifiableKeyPath<Root>] { [.init(wrapper: place)] }

  /// A wrapper of entities that may be missing.
  @inlinable public static func at<W: EntityWrapper>(
    _ place: WritableKeyPath<Root, W?>
  ) -> [PartialIdentifiableKeyPath<Root>] { [.init(wrapper: place)] }

  /// A collection of wrappers of entities.
  @inlinable public static func at<C: MutableCollection>(
    _ place: WritableKeyPath<Root, C>
  ) -> [PartialIdentifiableKeyPath<Root>] where C.Element: EntityWrapper { [.init(wrappers: place)] }

  /// A collection of wrappers of entities that may be missing.
  @inlinable public static func at<C: MutableCollection>(
    _ place: WritableKeyPath<Root, C?>
  ) -> [PartialIdentifiableKeyPath<Root>] where C.Element: EntityWrapper { [.init(wrappers: place)] }
}
