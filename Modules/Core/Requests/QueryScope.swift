/// An object in a typed expression, whose properties are looked up in the table of its class: the fetched object, the
/// target of to-one relationships, or a member of a to-many relationship.
///
/// ```swift
/// FetchRequest(Album.self).filter {
///   $0.year > 1990 && $0.artist.name.hasPrefix("A") && $0.tracks.any { $0.length > 300 }
/// }
/// ```
/// A property outside of the table is a compile-time error. The own properties of a ``DeclaredSubentity`` are looked up
/// by the key paths of its accessors; a fetch refuses the accessors that ``DeclaredEntity/propertyNames`` leaves out.
@dynamicMemberLookup
public struct QueryScope<Root: DeclaredEntity> {
  /// The path to the object.
  let start: PropertyPath

  /// The object of an order or of an aggregate, which has no condition.
  init() { start = .own }
  /// The object of a condition whose closure is running, with the identity of the object in the closure.
  init(_ scope: QueryScopeID) {
    var path = PropertyPath.own
    path.scope = scope
    start = path
  }
  /// The object at the end of a path of to-one relationships.
  init(at path: PropertyPath) { start = path }

  /// The object itself as an expression, for comparisons with identifiers.
  var expression: FetchExpression { .path(start) }

  /// The path to a property of the object.
  func path(_ name: String) -> PropertyPath { start.appending([name]) }

  /// An attribute.
  public subscript<Value>(dynamicMember keyPath: KeyPath<Root.Properties, AttributeKey<Value>>)
    -> QueryAttribute<Value>
  {
    QueryAttribute(.path(path(Root.Properties.table[keyPath: keyPath].name)))
  }

  /// The target of a to-one relationship. Properties of a missing target are missing.
  public subscript<Target: DeclaredEntity>(dynamicMember keyPath: KeyPath<Root.Properties, ToOneKey<Target>>)
    -> QueryScope<Target>
  {
    QueryScope<Target>(at: path(Root.Properties.table[keyPath: keyPath].name))
  }

  /// The members of a to-many relationship.
  public subscript<Member: DeclaredEntity>(dynamicMember keyPath: KeyPath<Root.Properties, ToManyKey<Member>>)
    -> QueryCollection<Member>
  {
    QueryCollection(path: path(Root.Properties.table[keyPath: keyPath].name))
  }

  /// The members of an ordered to-many relationship.
  public subscript<Member: DeclaredEntity>(dynamicMember keyPath: KeyPath<Root.Properties, OrderedToManyKey<Member>>)
    -> QueryCollection<Member>
  {
    QueryCollection(path: path(Root.Properties.table[keyPath: keyPath].name))
  }

  /// An attribute by its name, for properties without a key path: parts of composites, and dynamic properties.
  public subscript<Value: AttributeConvertible>(name: String, as type: Value.Type) -> QueryAttribute<Value> {
    QueryAttribute(.path(start.appending(PropertyPath(name).names)))
  }
}

// MARK: - Own properties of subclasses

extension QueryScope where Root: DeclaredSubentity {
  /// An attribute of the subclass.
  @_disfavoredOverload
  public subscript<Value: AttributeConvertible>(dynamicMember keyPath: ReferenceWritableKeyPath<Root, Value>)
    -> QueryAttribute<Value>
  {
    QueryAttribute(.path(path(Root.propertyName(of: keyPath))))
  }

  /// The target of a to-one relationship of the subclass.
  @_disfavoredOverload
  public subscript<Target: DeclaredEntity>(dynamicMember keyPath: ReferenceWritableKeyPath<Root, Target?>)
    -> QueryScope<Target>
  {
    QueryScope<Target>(at: path(Root.propertyName(of: keyPath)))
  }

  /// A composite of the subclass.
  @_disfavoredOverload
  public subscript<Value: CompositeValue>(dynamicMember keyPath: ReferenceWritableKeyPath<Root, Value>)
    -> QueryComposite<Value>
  {
    QueryComposite(of: start, name: Root.propertyName(of: keyPath))
  }

  /// The members of a to-many relationship of the subclass.
  @_disfavoredOverload
  public subscript<Members: ToManyCollection>(dynamicMember keyPath: KeyPath<Root, Members>)
    -> QueryCollection<Members.Element> where Members.Element: DeclaredEntity
  {
    QueryCollection(path: path(Root.propertyName(of: keyPath)))
  }
}

// MARK: - Identity

extension QueryScope {
  /// Whether the object has the identifier; with `nil`, whether the object is missing.
  public static func == (left: QueryScope, right: ManagedObjectID?) -> FetchPredicate {
    .comparison(left.expression, .equal, .value(right.map(AttributeValue.reference) ?? .null))
  }

  /// Whether the object has another identifier, or is missing; with `nil`, whether the object exists.
  public static func != (left: QueryScope, right: ManagedObjectID?) -> FetchPredicate {
    .comparison(left.expression, .notEqual, .value(right.map(AttributeValue.reference) ?? .null))
  }

  /// Whether the object is the given object.
  public static func == (left: QueryScope, right: Root) -> FetchPredicate { left == right.objectID }

  /// Whether the object is not the given object, or is missing.
  public static func != (left: QueryScope, right: Root) -> FetchPredicate { left != right.objectID }

  /// Whether both sides are the same object, or both are missing.
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
