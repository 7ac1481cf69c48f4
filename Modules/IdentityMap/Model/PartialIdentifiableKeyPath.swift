/// The place of nested entities in an aggregate.
///
/// A place must be writable (`var`), and it may lead through structures that are no entities (`\.header.author`).
/// Besides single entities these can be optional, collections of them, sets, dictionaries, and wrappers (see
/// ``EntityWrapper``). What becomes of the aggregate when an entity at the place is removed from the store is said by
/// ``onRemoval(_:)``:
///
/// ```swift
/// var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] {
///   [.init(\.author).onRemoval(.keepLastValue), .init(\.comments)]
/// }
/// ```
public struct PartialIdentifiableKeyPath<Root> {
  /// What is at a place, as far as the place alone does not tell.
  @usableFromInline enum Kind {
    case entity, optional, collection, wrapper
  }

  @usableFromInline let keyPath: PartialKeyPath<Root>
  @usableFromInline let kind: Kind
  @usableFromInline var removal: RemovalPolicy
  /// Only asked when the place is new: it takes longer than to compare places.
  @usableFromInline let make: (PartialKeyPath<Root>) -> NestedAccessor<Root>

  @inlinable init<Part>(
    _ keyPath: WritableKeyPath<Root, Part>, _ kind: Kind,
    make: @escaping (WritableKeyPath<Root, Part>) -> NestedAccessor<Root>
  ) {
    self.keyPath = keyPath
    self.kind = kind
    removal = .cascade
    self.make = { make(unsafeDowncast($0, to: WritableKeyPath<Root, Part>.self)) }
  }

  func makeAccessor() -> NestedAccessor<Root> {
    make(keyPath).removing(by: removal)
  }

  /// The same place with another policy for the removal of an entity at it; without one, that is
  /// ``RemovalPolicy/cascade``. The policy holds for everything at the place: of a collection or a wrapper, for each entity
  /// in it.
  public func onRemoval(_ policy: RemovalPolicy) -> Self {
    var path = self
    path.removal = policy
    return path
  }

  /// An entity.
  @inlinable public init<T: Identifiable & Sendable>(_ keyPath: WritableKeyPath<Root, T>) {
    self.init(keyPath, .entity) { .part($0, .entity()) }
  }

  /// An entity that may be missing.
  @inlinable public init<T: Identifiable & Sendable>(_ keyPath: WritableKeyPath<Root, T?>) {
    self.init(keyPath, .optional) { .part($0, .optional(.entity())) }
  }

  /// A collection of entities.
  @inlinable public init<C: MutableCollection>(_ keyPath: WritableKeyPath<Root, C>)
  where C.Element: Identifiable & Sendable {
    self.init(keyPath, .collection) { .part($0, .collection(.entity())) }
  }

  /// A collection of entities that may be missing.
  @inlinable public init<C: MutableCollection>(_ keyPath: WritableKeyPath<Root, C?>)
  where C.Element: Identifiable & Sendable {
    self.init(keyPath, .collection) { .part($0, .optional(.collection(.entity()))) }
  }

  /// A collection of entities of which some may be missing.
  @inlinable public init<C: MutableCollection, T: Identifiable & Sendable>(optionals keyPath: WritableKeyPath<Root, C>)
  where C.Element == T? {
    self.init(keyPath, .collection) { .part($0, .collection(.optional(.entity()))) }
  }

  /// A set of entities.
  @inlinable public init<T: Identifiable & Sendable & Hashable>(_ keyPath: WritableKeyPath<Root, Set<T>>) {
    self.init(keyPath, .collection) { .part($0, .set()) }
  }

  /// A set of entities that may be missing.
  @inlinable public init<T: Identifiable & Sendable & Hashable>(_ keyPath: WritableKeyPath<Root, Set<T>?>) {
    self.init(keyPath, .collection) { .part($0, .optional(.set())) }
  }

  /// Entities by keys.
  @inlinable public init<Key: Hashable, T: Identifiable & Sendable>(_ keyPath: WritableKeyPath<Root, [Key: T]>) {
    self.init(keyPath, .collection) { .part($0, .dictionary(.entity())) }
  }

  /// Collections of entities by keys.
  @inlinable public init<Key: Hashable, C: MutableCollection>(lists keyPath: WritableKeyPath<Root, [Key: C]>)
  where C.Element: Identifiable & Sendable {
    self.init(keyPath, .collection) { .part($0, .dictionary(.collection(.entity()))) }
  }

  /// A collection of collections of entities.
  @inlinable public init<C: MutableCollection>(lists keyPath: WritableKeyPath<Root, C>)
  where C.Element: MutableCollection, C.Element.Element: Identifiable & Sendable {
    self.init(keyPath, .collection) { .part($0, .collection(.collection(.entity()))) }
  }

  /// A wrapper of entities.
  @inlinable public init<W: EntityWrapper>(wrapper keyPath: WritableKeyPath<Root, W>) {
    self.init(keyPath, .wrapper) { .part($0, .wrapper()) }
  }

  /// A wrapper of entities that may be missing.
  @inlinable public init<W: EntityWrapper>(wrapper keyPath: WritableKeyPath<Root, W?>) {
    self.init(keyPath, .wrapper) { .part($0, .optional(.wrapper())) }
  }

  /// A collection of wrappers of entities.
  @inlinable public init<C: MutableCollection>(wrappers keyPath: WritableKeyPath<Root, C>)
  where C.Element: EntityWrapper {
    self.init(keyPath, .wrapper) { .part($0, .collection(.wrapper())) }
  }

  /// A collection of wrappers of entities that may be missing.
  @inlinable public init<C: MutableCollection>(wrappers keyPath: WritableKeyPath<Root, C?>)
  where C.Element: EntityWrapper {
    self.init(keyPath, .wrapper) { .part($0, .optional(.collection(.wrapper()))) }
  }
}
