/// A group of records in a typed expression. The properties of the records are group keys, and operands of aggregates.
///
/// ```swift
/// FetchRequest(Track.self).grouped { ($0.album.title, $0.count, $0.length.sum) }
/// ```
/// A property with the name `count` is found by its name: `$0["count", as: Int.self]`.
@dynamicMemberLookup
public struct GroupScope<Root: DeclaredEntity> {
  init() {}

  /// The number of records of the group.
  public var count: QueryAggregate<Int> { QueryAggregate(.count, .own) }

  private func path(_ name: String) -> PropertyPath { PropertyPath(names: [name]) }

  /// An attribute.
  public subscript<Value>(dynamicMember keyPath: KeyPath<Root.Properties, AttributeKey<Value>>)
    -> QueryAttribute<Value>
  {
    QueryAttribute(.path(path(Root.Properties.table[keyPath: keyPath].name)))
  }

  /// The target of a to-one relationship.
  public subscript<Target: DeclaredEntity>(dynamicMember keyPath: KeyPath<Root.Properties, ToOneKey<Target>>)
    -> GroupTarget<Target>
  {
    GroupTarget(columnPath: path(Root.Properties.table[keyPath: keyPath].name))
  }

  /// The members of a to-many relationship, whose aggregates are group keys.
  public subscript<Member: DeclaredEntity>(dynamicMember keyPath: KeyPath<Root.Properties, ToManyKey<Member>>)
    -> QueryCollection<Member>
  {
    QueryCollection(path: path(Root.Properties.table[keyPath: keyPath].name))
  }

  /// The members of an ordered to-many relationship, whose aggregates are group keys.
  public subscript<Member: DeclaredEntity>(dynamicMember keyPath: KeyPath<Root.Properties, OrderedToManyKey<Member>>)
    -> QueryCollection<Member>
  {
    QueryCollection(path: path(Root.Properties.table[keyPath: keyPath].name))
  }

  /// A composite, whose parts are attributes.
  public subscript<Value>(dynamicMember keyPath: KeyPath<Root.Properties, CompositeKey<Value>>)
    -> QueryComposite<Value>
  {
    QueryComposite(of: .own, name: Root.Properties.table[keyPath: keyPath].name)
  }

  /// An attribute by its name, for properties without a key path.
  public subscript<Value: AttributeConvertible>(name: String, as type: Value.Type) -> QueryAttribute<Value> {
    QueryAttribute(.path(PropertyPath(name)))
  }
}

// MARK: - Own properties of subclasses

extension GroupScope where Root: DeclaredSubentity {
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
    -> GroupTarget<Target>
  {
    GroupTarget(columnPath: path(Root.propertyName(of: keyPath)))
  }
}

/// The object at the end of to-one relationships of a group's records. The object is a group key by its identifier, and
/// its properties are group keys too. Properties of a missing object are missing.
@dynamicMemberLookup
public struct GroupTarget<Root: DeclaredEntity>: GroupColumn {
  /// The path to the to-one relationship.
  public let columnPath: PropertyPath
  /// `true`: the records of a group have the same target.
  public var isGroupKey: Bool { true }

  init(columnPath: PropertyPath) { self.columnPath = columnPath }

  /// The identifier of the target; `nil` without a target.
  public func columnValue(from value: AttributeValue) -> ManagedObjectID? {
    guard case .reference(let id) = value else { return nil }
    return id
  }

  /// The number of different objects among the records of a group.
  public var countDistinct: QueryAggregate<Int> { QueryAggregate(.countDistinct, columnPath) }

  /// Whether the object has the identifier; with `nil`, whether the object is missing.
  public static func == (left: GroupTarget, right: ManagedObjectID?) -> FetchPredicate {
    .comparison(.path(left.columnPath), .equal, .value(right.map(AttributeValue.reference) ?? .null))
  }

  /// Whether the object has another identifier; with `nil`, whether the object exists.
  public static func != (left: GroupTarget, right: ManagedObjectID?) -> FetchPredicate {
    .comparison(.path(left.columnPath), .notEqual, .value(right.map(AttributeValue.reference) ?? .null))
  }

  private func path(_ name: String) -> PropertyPath { PropertyPath(names: columnPath.names + [name]) }

  /// An attribute.
  public subscript<Value>(dynamicMember keyPath: KeyPath<Root.Properties, AttributeKey<Value>>)
    -> QueryAttribute<Value.NonOptional?>
  {
    QueryAttribute(.path(path(Root.Properties.table[keyPath: keyPath].name)))
  }

  /// The target of a to-one relationship.
  public subscript<Target: DeclaredEntity>(dynamicMember keyPath: KeyPath<Root.Properties, ToOneKey<Target>>)
    -> GroupTarget<Target>
  {
    GroupTarget<Target>(columnPath: path(Root.Properties.table[keyPath: keyPath].name))
  }

  /// An attribute by its name, for properties without a key path.
  public subscript<Value: AttributeConvertible>(name: String, as type: Value.Type)
    -> QueryAttribute<Value.NonOptional?>
  {
    QueryAttribute(.path(PropertyPath(names: columnPath.names + PropertyPath(name).names)))
  }
}
