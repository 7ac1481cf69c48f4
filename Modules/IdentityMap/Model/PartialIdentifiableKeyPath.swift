/// The key path to nested entities of an aggregate.
///
/// The key path must be writable (`var`), and may lead through structures without an identity (`\.header.author`).
/// Besides single entities, it may lead to optionals, collections, sets, dictionaries, and wrappers (see
/// ``EntityWrapper``). The policy of ``onRemoval(_:)`` determines the effect on the aggregate when an entity at the key
/// path is removed from the store:
///
/// ```swift
/// var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] {
///   [.init(\.author).onRemoval(.keepLastValue), .init(\.comments)]
/// }
/// ```
public struct PartialIdentifiableKeyPath<Root> {
  /// The meaning of the content, which the type at a key path does not determine: an entity may be a collection too, and
  /// an element of a collection may be an entity and a collection of entities. Equal key paths of one kind have one
  /// accessor.
  @usableFromInline enum Kind {
    case entity, optional, collection, lists, wrapper, wrappers

    /// Whether the entities are those of wrappers, whose key paths depend on their values.
    var isOfWrappers: Bool { self == .wrapper || self == .wrappers }
  }

  @usableFromInline let keyPath: PartialKeyPath<Root>
  @usableFromInline let kind: Kind
  @usableFromInline var removal: RemovalPolicy
  /// Makes the accessor by which the engine reads and writes the entities. The closure is made in the initialiser, where
  /// the compiler knows the static types of the key path. Called for new key paths only, because it takes longer than a
  /// comparison of key paths.
  @usableFromInline let make: (PartialKeyPath<Root>) -> NestedAccessor<Root>

  @inlinable init<Part>(
    _ keyPath: WritableKeyPath<Root, Part>, _ kind: Kind,
    make: @escaping (WritableKeyPath<Root, Part>) -> NestedAccessor<Root>
  ) {
    self.keyPath = keyPath
    self.kind = kind
    removal = .cascade
    // Safety of `unsafeDowncast`: `makeAccessor` passes `keyPath`, which is this key path.
    self.make = { make(unsafeDowncast($0, to: WritableKeyPath<Root, Part>.self)) }
  }

  func makeAccessor() -> NestedAccessor<Root> {
    make(keyPath).removing(by: removal)
  }

  /// Returns the same key path with a policy for the removal of its entities; the default is
  /// ``RemovalPolicy/cascade``. The policy applies to every entity at the key path, also to each element of a
  /// collection.
  public func onRemoval(_ policy: RemovalPolicy) -> Self {
    var path = self
    path.removal = policy
    return path
  }

  /// An entity.
  @inlinable public init<T: Identifiable & Sendable>(_ keyPath: WritableKeyPath<Root, T>) {
    self.init(keyPath, .entity) { .part($0, .entity()) }
  }

  /// An optional entity.
  @inlinable public init<T: Identifiable & Sendable>(_ keyPath: WritableKeyPath<Root, T?>) {
    self.init(keyPath, .optional) { .part($0, .optional(.entity())) }
  }

  /// A collection of entities.
  @inlinable public init<C: MutableCollection>(_ keyPath: WritableKeyPath<Root, C>)
  where C.Element: Identifiable & Sendable {
    self.init(keyPath, .collection) { .part($0, .collection(.entity())) }
  }

  /// An optional collection of entities.
  @inlinable public init<C: MutableCollection>(_ keyPath: WritableKeyPath<Root, C?>)
  where C.Element: Identifiable & Sendable {
    self.init(keyPath, .collection) { .part($0, .optional(.collection(.entity()))) }
  }

  /// A collection of entities of which some may be missing.
  @inlinable public init<C: MutableCollection, T: Identifiable & Sendable>(optionals keyPath: WritableKeyPath<Root, C>)
  where C.Element == T? {
    self.init(keyPath, .collection) { .part($0, .collection(.optional(.entity()))) }
  }

  /// An optional collection of entities of which some may be missing.
  @inlinable public init<C: MutableCollection, T: Identifiable & Sendable>(optionals keyPath: WritableKeyPath<Root, C?>)
  where C.Element == T? {
    self.init(keyPath, .collection) { .part($0, .optional(.collection(.optional(.entity())))) }
  }

  /// A set of entities.
  @inlinable public init<T: Identifiable & Sendable & Hashable>(_ keyPath: WritableKeyPath<Root, Set<T>>) {
    self.init(keyPath, .collection) { .part($0, .set()) }
  }

  /// An optional set of entities.
  @inlinable public init<T: Identifiable & Sendable & Hashable>(_ keyPath: WritableKeyPath<Root, Set<T>?>) {
    self.init(keyPath, .collection) { .part($0, .optional(.set())) }
  }

  /// Entities by keys.
  @inlinable public init<Key: Hashable, T: Identifiable & Sendable>(_ keyPath: WritableKeyPath<Root, [Key: T]>) {
    self.init(keyPath, .collection) { .part($0, .dictionary(.entity())) }
  }

  /// Entities by keys; the dictionary may be missing.
  @inlinable public init<Key: Hashable, T: Identifiable & Sendable>(_ keyPath: WritableKeyPath<Root, [Key: T]?>) {
    self.init(keyPath, .collection) { .part($0, .optional(.dictionary(.entity()))) }
  }

  /// Collections of entities by keys.
  @inlinable public init<Key: Hashable, C: MutableCollection>(lists keyPath: WritableKeyPath<Root, [Key: C]>)
  where C.Element: Identifiable & Sendable {
    self.init(keyPath, .lists) { .part($0, .dictionary(.collection(.entity()))) }
  }

  /// Collections of entities by keys; the dictionary may be missing.
  @inlinable public init<Key: Hashable, C: MutableCollection>(lists keyPath: WritableKeyPath<Root, [Key: C]?>)
  where C.Element: Identifiable & Sendable {
    self.init(keyPath, .lists) { .part($0, .optional(.dictionary(.collection(.entity())))) }
  }

  /// A collection of collections of entities.
  @inlinable public init<C: MutableCollection>(lists keyPath: WritableKeyPath<Root, C>)
  where C.Element: MutableCollection, C.Element.Element: Identifiable & Sendable {
    self.init(keyPath, .lists) { .part($0, .collection(.collection(.entity()))) }
  }

  /// An optional collection of collections of entities.
  @inlinable public init<C: MutableCollection>(lists keyPath: WritableKeyPath<Root, C?>)
  where C.Element: MutableCollection, C.Element.Element: Identifiable & Sendable {
    self.init(keyPath, .lists) { .part($0, .optional(.collection(.collection(.entity())))) }
  }

  /// A wrapper of entities.
  @inlinable public init<W: EntityWrapper>(wrapper keyPath: WritableKeyPath<Root, W>) {
    self.init(keyPath, .wrapper) { .part($0, .wrapper()) }
  }

  /// An optional wrapper of entities.
  @inlinable public init<W: EntityWrapper>(wrapper keyPath: WritableKeyPath<Root, W?>) {
    self.init(keyPath, .wrapper) { .part($0, .optional(.wrapper())) }
  }

  /// A collection of wrappers of entities.
  @inlinable public init<C: MutableCollection>(wrappers keyPath: WritableKeyPath<Root, C>)
  where C.Element: EntityWrapper {
    self.init(keyPath, .wrappers) { .part($0, .collection(.wrapper())) }
  }

  /// An optional collection of wrappers of entities.
  @inlinable public init<C: MutableCollection>(wrappers keyPath: WritableKeyPath<Root, C?>)
  where C.Element: EntityWrapper {
    self.init(keyPath, .wrappers) { .part($0, .optional(.collection(.wrapper()))) }
  }
}
