/// What is found out about a property when code is compiled; nothing of this is ever called.
public enum PlaceCheck {
  /// There is nothing to complain of.
  public struct Passed {
    /// Says so.
    public func check() {}
  }

  /// An entity is where nothing can be written.
  public struct Constant {
    /// Says so.
    @available(
      *, unavailable,
      message: """
        An entity in an aggregate has to be a variable ('var'), so that its newer values can be written. Mark it with \
        @NotNested if it may stay as it was stored.
        """
    )
    public func check() {}
  }

  /// An entity is in a computed property.
  public struct Computed {
    /// Says so.
    @available(
      *, unavailable,
      message: """
        Entities in computed properties are not found. Mark it with @NotNested, or list all places by hand in \
        'nestedEntitiesKeyPaths'.
        """
    )
    public func check() {}
  }

  /// Entities are in a collection whose elements cannot be replaced.
  public struct Immutable {
    /// Says so.
    @available(
      *, unavailable,
      message: """
        Entities in a collection can only be followed where single elements can be replaced (MutableCollection, Set, \
        Dictionary). Use another collection, or mark it with @NotNested.
        """
    )
    public func check() {}
  }
}

// Swift chooses the declaration that says most of a type, whatever the result is: the result is looked at in a statement
// of its own.
extension NestedPlaces {
  /// A variable with no entities, or with such that can be followed.
  public static func variable<Part>(_ place: WritableKeyPath<Root, Part>) -> PlaceCheck.Passed { .init() }

  /// A variable with a collection of entities.
  public static func variable<C: Collection>(_ place: WritableKeyPath<Root, C>) -> PlaceCheck.Immutable
  where C.Element: Identifiable { .init() }

  /// A variable with a collection of entities that can be followed.
  public static func variable<C: MutableCollection>(_ place: WritableKeyPath<Root, C>) -> PlaceCheck.Passed
  where C.Element: Identifiable { .init() }

  /// A variable with a set of entities.
  public static func variable<T: Identifiable>(_ place: WritableKeyPath<Root, Set<T>>) -> PlaceCheck.Passed { .init() }
}

extension NestedPlaces {
  /// A constant with no entity.
  public static func constant<Part>(_ place: KeyPath<Root, Part>) -> PlaceCheck.Passed { .init() }

  /// A constant entity.
  public static func constant<T: Identifiable>(_ place: KeyPath<Root, T>) -> PlaceCheck.Constant { .init() }

  /// A constant entity that may be missing.
  public static func constant<T: Identifiable>(_ place: KeyPath<Root, T?>) -> PlaceCheck.Constant { .init() }

  /// A constant collection of entities.
  public static func constant<C: Collection>(_ place: KeyPath<Root, C>) -> PlaceCheck.Constant
  where C.Element: Identifiable { .init() }

  /// A constant collection of entities that may be missing.
  public static func constant<C: Collection>(_ place: KeyPath<Root, C?>) -> PlaceCheck.Constant
  where C.Element: Identifiable { .init() }

  /// A constant wrapper of entities.
  public static func constant<W: EntityWrapper>(_ place: KeyPath<Root, W>) -> PlaceCheck.Constant { .init() }

  /// A constant wrapper of entities that may be missing.
  public static func constant<W: EntityWrapper>(_ place: KeyPath<Root, W?>) -> PlaceCheck.Constant { .init() }
}

extension NestedPlaces {
  /// A computed property with no entity.
  public static func computed<Part>(_ place: WritableKeyPath<Root, Part>) -> PlaceCheck.Passed { .init() }

  /// A computed entity.
  public static func computed<T: Identifiable>(_ place: WritableKeyPath<Root, T>) -> PlaceCheck.Computed { .init() }

  /// A computed entity that may be missing.
  public static func computed<T: Identifiable>(_ place: WritableKeyPath<Root, T?>) -> PlaceCheck.Computed { .init() }

  /// A computed collection of entities.
  public static func computed<C: Collection>(_ place: WritableKeyPath<Root, C>) -> PlaceCheck.Computed
  where C.Element: Identifiable { .init() }

  /// A computed wrapper of entities.
  public static func computed<W: EntityWrapper>(_ place: WritableKeyPath<Root, W>) -> PlaceCheck.Computed { .init() }
}
