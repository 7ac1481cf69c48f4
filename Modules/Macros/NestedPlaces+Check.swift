/// The results of the overloads of ``NestedPlaces`` that check properties at compile time. The generated code calls
/// `check()` of each result, in a compiled function without a caller.
public enum PlaceCheck {
  /// The result for a property in which the check finds no entity that the macro cannot follow.
  public struct Passed {
    /// Compiles.
    public func check() {}
  }

  /// The result for an entity in a constant. Its member is unavailable, so that the compiler reports the
  /// property.
  public struct Constant {
    /// Does not compile, with a message that says how to correct the declaration.
    @available(
      *, unavailable,
      message: """
        An entity in an aggregate has to be a variable ('var'), so that its newer values can be written. Mark it with \
        @NotNested if it may stay as it was stored.
        """
    )
    public func check() {}
  }

  /// The result for an entity in a computed property.
  public struct Computed {
    /// Does not compile, with a message that says how to correct the declaration.
    @available(
      *, unavailable,
      message: """
        Entities in computed properties are not found. Mark the property with @NotNested, or list all key paths by \
        hand in 'nestedEntitiesKeyPaths'.
        """
    )
    public func check() {}
  }

  /// The result for entities in a collection without replaceable elements.
  public struct Immutable {
    /// Does not compile, with a message that says how to correct the declaration.
    @available(
      *, unavailable,
      message: """
        Entities in a collection can only be followed where single elements can be replaced (MutableCollection, Set, \
        Dictionary). Use another collection, or mark the property with @NotNested.
        """
    )
    public func check() {}
  }
}

// Swift chooses the most specific overload for a property's type, and the unconstrained overload for a type without
// another overload: such a property passes, although it may have entities. The call of `check()` stands in a statement
// of its own: in one statement, Swift would pass over an overload with an unavailable `check()` in favour of a less
// specific one.
extension NestedPlaces {
  /// A variable without entities, with entities that the macro follows, or of a type without another overload.
  public static func variable<Part>(_ keyPath: WritableKeyPath<Root, Part>) -> PlaceCheck.Passed { .init() }

  /// A variable with a collection of entities.
  public static func variable<C: Collection>(_ keyPath: WritableKeyPath<Root, C>) -> PlaceCheck.Immutable
  where C.Element: Identifiable { .init() }

  /// A variable with a collection of entities that the macro follows.
  public static func variable<C: MutableCollection>(_ keyPath: WritableKeyPath<Root, C>) -> PlaceCheck.Passed
  where C.Element: Identifiable { .init() }

  /// A variable with an optional collection of entities.
  public static func variable<C: Collection>(_ keyPath: WritableKeyPath<Root, C?>) -> PlaceCheck.Immutable
  where C.Element: Identifiable { .init() }

  /// A variable with an optional collection of entities that the macro follows.
  public static func variable<C: MutableCollection>(_ keyPath: WritableKeyPath<Root, C?>) -> PlaceCheck.Passed
  where C.Element: Identifiable { .init() }

  /// A variable with an optional set of entities.
  public static func variable<T: Identifiable>(_ keyPath: WritableKeyPath<Root, Set<T>?>) -> PlaceCheck.Passed {
    .init()
  }

  /// A variable with a set of entities.
  public static func variable<T: Identifiable>(_ keyPath: WritableKeyPath<Root, Set<T>>) -> PlaceCheck.Passed {
    .init()
  }
}

extension NestedPlaces {
  /// A constant without entities, or of a type without another overload, such as an optional dictionary of entities.
  public static func constant<Part>(_ keyPath: KeyPath<Root, Part>) -> PlaceCheck.Passed { .init() }

  /// A constant entity.
  public static func constant<T: Identifiable>(_ keyPath: KeyPath<Root, T>) -> PlaceCheck.Constant { .init() }

  /// A constant optional entity.
  public static func constant<T: Identifiable>(_ keyPath: KeyPath<Root, T?>) -> PlaceCheck.Constant { .init() }

  /// A constant collection of entities.
  public static func constant<C: Collection>(_ keyPath: KeyPath<Root, C>) -> PlaceCheck.Constant
  where C.Element: Identifiable { .init() }

  /// A constant optional collection of entities.
  public static func constant<C: Collection>(_ keyPath: KeyPath<Root, C?>) -> PlaceCheck.Constant
  where C.Element: Identifiable { .init() }

  /// A constant wrapper of entities.
  public static func constant<W: EntityWrapper>(_ keyPath: KeyPath<Root, W>) -> PlaceCheck.Constant { .init() }

  /// A constant optional wrapper of entities.
  public static func constant<W: EntityWrapper>(_ keyPath: KeyPath<Root, W?>) -> PlaceCheck.Constant { .init() }

  /// A constant collection of optional entities.
  public static func constant<C: Collection, T: Identifiable>(_ keyPath: KeyPath<Root, C>) -> PlaceCheck.Constant
  where C.Element == T? { .init() }

  /// A constant collection of collections of entities.
  public static func constant<C: Collection>(_ keyPath: KeyPath<Root, C>) -> PlaceCheck.Constant
  where C.Element: Collection, C.Element.Element: Identifiable { .init() }

  /// A constant dictionary with entities as values.
  public static func constant<Key: Hashable, T: Identifiable>(
    _ keyPath: KeyPath<Root, [Key: T]>
  ) -> PlaceCheck.Constant { .init() }

  /// A constant dictionary with collections of entities as values.
  public static func constant<Key: Hashable, C: Collection>(
    _ keyPath: KeyPath<Root, [Key: C]>
  ) -> PlaceCheck.Constant where C.Element: Identifiable { .init() }

  /// A constant collection of wrappers of entities.
  public static func constant<C: Collection>(_ keyPath: KeyPath<Root, C>) -> PlaceCheck.Constant
  where C.Element: EntityWrapper { .init() }

  /// A constant optional collection of wrappers of entities.
  public static func constant<C: Collection>(_ keyPath: KeyPath<Root, C?>) -> PlaceCheck.Constant
  where C.Element: EntityWrapper { .init() }
}

extension NestedPlaces {
  /// A computed property without entities, or of a type without another overload, such as an optional dictionary of
  /// entities.
  public static func computed<Part>(_ keyPath: WritableKeyPath<Root, Part>) -> PlaceCheck.Passed { .init() }

  /// A computed entity.
  public static func computed<T: Identifiable>(_ keyPath: WritableKeyPath<Root, T>) -> PlaceCheck.Computed { .init() }

  /// A computed optional entity.
  public static func computed<T: Identifiable>(_ keyPath: WritableKeyPath<Root, T?>) -> PlaceCheck.Computed { .init() }

  /// A computed collection of entities.
  public static func computed<C: Collection>(_ keyPath: WritableKeyPath<Root, C>) -> PlaceCheck.Computed
  where C.Element: Identifiable { .init() }

  /// A computed optional collection of entities.
  public static func computed<C: Collection>(_ keyPath: WritableKeyPath<Root, C?>) -> PlaceCheck.Computed
  where C.Element: Identifiable { .init() }

  /// A computed wrapper of entities.
  public static func computed<W: EntityWrapper>(_ keyPath: WritableKeyPath<Root, W>) -> PlaceCheck.Computed { .init() }

  /// A computed optional wrapper of entities.
  public static func computed<W: EntityWrapper>(_ keyPath: WritableKeyPath<Root, W?>) -> PlaceCheck.Computed { .init() }

  /// A computed collection of optional entities.
  public static func computed<C: Collection, T: Identifiable>(_ keyPath: WritableKeyPath<Root, C>)
    -> PlaceCheck.Computed
  where C.Element == T? { .init() }

  /// A computed collection of collections of entities.
  public static func computed<C: Collection>(_ keyPath: WritableKeyPath<Root, C>) -> PlaceCheck.Computed
  where C.Element: Collection, C.Element.Element: Identifiable { .init() }

  /// A computed dictionary with entities as values.
  public static func computed<Key: Hashable, T: Identifiable>(
    _ keyPath: WritableKeyPath<Root, [Key: T]>
  ) -> PlaceCheck.Computed { .init() }

  /// A computed dictionary with collections of entities as values.
  public static func computed<Key: Hashable, C: Collection>(
    _ keyPath: WritableKeyPath<Root, [Key: C]>
  ) -> PlaceCheck.Computed where C.Element: Identifiable { .init() }

  /// A computed collection of wrappers of entities.
  public static func computed<C: Collection>(_ keyPath: WritableKeyPath<Root, C>) -> PlaceCheck.Computed
  where C.Element: EntityWrapper { .init() }

  /// A computed optional collection of wrappers of entities.
  public static func computed<C: Collection>(_ keyPath: WritableKeyPath<Root, C?>) -> PlaceCheck.Computed
  where C.Element: EntityWrapper { .init() }
}
