/// An object in a typed expression, whose properties are looked up by key path: the fetched object, the target of
/// to-one relationships, or a member of a to-many relationship.
///
/// ```swift
/// FetchPredicate.where(Album.self) {
///   $0.year > 1990 && $0.artist.name.hasPrefix("A") && $0.tracks.any { $0.length > 300 }
/// }
/// ```
@dynamicMemberLookup
public struct QueryScope<Root: KeyPathNaming> {
  let names: [String]

  /// The fetched object, or a member.
  init() { names = [] }
  init(names: [String]) { self.names = names }

  var expression: FetchExpression { .path(PropertyPath(names: names)) }

  private func names(to keyPath: AnyKeyPath) -> [String] { names + [Root.propertyName(of: keyPath)] }

  /// An attribute.
  public subscript<Value: AttributeConvertible>(dynamicMember keyPath: KeyPath<Root, Value>) -> QueryAttribute<Value> {
    QueryAttribute(.path(PropertyPath(names: names(to: keyPath))))
  }

  /// The object that a to-one relationship leads to. Properties of a missing object are missing.
  public subscript<Target: KeyPathNaming>(dynamicMember keyPath: KeyPath<Root, Target?>) -> QueryScope<Target> {
    QueryScope<Target>(names: names(to: keyPath))
  }

  /// The members of a to-many relationship.
  public subscript<Members: ToManyCollection>(dynamicMember keyPath: KeyPath<Root, Members>)
    -> QueryCollection<Members.Element> where Members.Element: KeyPathNaming
  {
    QueryCollection(path: PropertyPath(names: names(to: keyPath)))
  }

  /// An attribute by its name, for properties without a key path: parts of composites, and dynamic properties.
  public subscript<Value: AttributeConvertible>(name: String, as type: Value.Type) -> QueryAttribute<Value> {
    QueryAttribute(.path(PropertyPath(names: names + PropertyPath(name).names)))
  }
}

// MARK: - Identity

extension QueryScope {
  /// Whether the object has the identifier; with `nil`, whether the object is missing.
  public static func == (left: QueryScope, right: ManagedObjectID?) -> FetchPredicate {
    .comparison(left.expression, .equal, .value(right.map(AttributeValue.reference) ?? .null))
  }

  /// Whether the object has another identifier; with `nil`, whether the object exists.
  public static func != (left: QueryScope, right: ManagedObjectID?) -> FetchPredicate {
    .comparison(left.expression, .notEqual, .value(right.map(AttributeValue.reference) ?? .null))
  }

  /// Whether the object is the given one.
  public static func == (left: QueryScope, right: Root) -> FetchPredicate { left == right.objectID }

  /// Whether the object is not the given object.
  public static func != (left: QueryScope, right: Root) -> FetchPredicate { left != right.objectID }

  /// Whether both sides lead to the same object, or both to none.
  public static func == (left: QueryScope, right: QueryScope) -> FetchPredicate {
    .comparison(left.expression, .equal, right.expression)
  }

  /// Whether the object is missing.
  public var isNil: FetchPredicate { .comparison(expression, .equal, .value(.null)) }

  /// Whether the object's identifier is in a list.
  public func isIn(_ ids: some Sequence<ManagedObjectID>) -> FetchPredicate {
    .membership(expression, in: ids.map(AttributeValue.reference))
  }
}
