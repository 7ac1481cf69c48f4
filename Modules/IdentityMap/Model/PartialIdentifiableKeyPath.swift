/// The place of nested entities in an aggregate.
///
/// A place must be writable (`var`), and it may lead through structures that are no entities (`\.header.author`).
/// Besides single entities these can be optional, collections of them, and wrappers (see ``EntityWrapper``).
public struct PartialIdentifiableKeyPath<Root> {
  let accessor: NestedAccessor<Root>

  init(accessor: NestedAccessor<Root>) {
    self.accessor = accessor
  }

  private init<Part>(_ keyPath: WritableKeyPath<Root, Part>, shape: NestedShape<Part>) {
    accessor = PathAccessor(keyPath: keyPath, shape: shape)
  }

  /// An entity.
  public init<T: Identifiable & Sendable>(_ keyPath: WritableKeyPath<Root, T>) {
    self.init(keyPath, shape: EntityShape<T>())
  }

  /// An entity that may be missing.
  public init<T: Identifiable & Sendable>(_ keyPath: WritableKeyPath<Root, T?>) {
    self.init(keyPath, shape: OptionalShape(EntityShape<T>()))
  }

  /// A collection of entities.
  public init<C: MutableCollection>(_ keyPath: WritableKeyPath<Root, C>)
  where C.Element: Identifiable & Sendable {
    self.init(keyPath, shape: CollectionShape(EntityShape<C.Element>()))
  }

  /// A collection of entities that may be missing.
  public init<C: MutableCollection>(_ keyPath: WritableKeyPath<Root, C?>)
  where C.Element: Identifiable & Sendable {
    self.init(keyPath, shape: OptionalShape(CollectionShape<C>(EntityShape<C.Element>())))
  }

  /// A collection of entities of which some may be missing.
  public init<C: MutableCollection, T: Identifiable & Sendable>(optionals keyPath: WritableKeyPath<Root, C>)
  where C.Element == T? {
    self.init(keyPath, shape: CollectionShape(OptionalShape(EntityShape<T>())))
  }

  /// A set of entities.
  public init<T: Identifiable & Sendable & Hashable>(_ keyPath: WritableKeyPath<Root, Set<T>>) {
    self.init(keyPath, shape: SetShape(EntityShape<T>()))
  }

  /// A wrapper of entities.
  public init<W: EntityWrapper>(wrapper keyPath: WritableKeyPath<Root, W>) {
    self.init(keyPath, shape: WrapperShape<W>())
  }

  /// A wrapper of entities that may be missing.
  public init<W: EntityWrapper>(wrapper keyPath: WritableKeyPath<Root, W?>) {
    self.init(keyPath, shape: OptionalShape(WrapperShape<W>()))
  }

  /// A collection of wrappers of entities.
  public init<C: MutableCollection>(wrappers keyPath: WritableKeyPath<Root, C>) where C.Element: EntityWrapper {
    self.init(keyPath, shape: CollectionShape(WrapperShape<C.Element>()))
  }
}
