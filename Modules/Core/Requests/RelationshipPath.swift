/// A path of relationships, for requests that load relationships together with their records.
///
/// ```swift
/// FetchRequest(Artist.self).prefetch(\.albums.tracks)
/// ```
/// A property outside of the table of a class is a compile-time error, and so is an attribute.
@dynamicMemberLookup
public struct RelationshipPath<Root: DeclaredEntity> {
  let names: [String]

  private func continued<Target>(by name: String) -> RelationshipPath<Target> {
    RelationshipPath<Target>(names: names + [name])
  }

  /// The path over a to-one relationship.
  public subscript<Target: DeclaredEntity>(dynamicMember keyPath: KeyPath<Root.Properties, ToOneKey<Target>>)
    -> RelationshipPath<Target>
  { continued(by: Root.Properties.table[keyPath: keyPath].name) }

  /// The path over a to-many relationship.
  public subscript<Target: DeclaredEntity>(dynamicMember keyPath: KeyPath<Root.Properties, ToManyKey<Target>>)
    -> RelationshipPath<Target>
  { continued(by: Root.Properties.table[keyPath: keyPath].name) }

  /// The path over an ordered to-many relationship.
  public subscript<Target: DeclaredEntity>(dynamicMember keyPath: KeyPath<Root.Properties, OrderedToManyKey<Target>>)
    -> RelationshipPath<Target>
  { continued(by: Root.Properties.table[keyPath: keyPath].name) }
}

extension RelationshipPath where Root: DeclaredSubentity {
  /// The path over a to-one relationship of the subclass.
  @_disfavoredOverload
  public subscript<Target: DeclaredEntity>(dynamicMember keyPath: ReferenceWritableKeyPath<Root, Target?>)
    -> RelationshipPath<Target>
  { continued(by: Root.propertyName(of: keyPath)) }

  /// The path over a to-many relationship of the subclass.
  @_disfavoredOverload
  public subscript<Members: ToManyCollection>(dynamicMember keyPath: KeyPath<Root, Members>)
    -> RelationshipPath<Members.Element> where Members.Element: DeclaredEntity
  { continued(by: Root.propertyName(of: keyPath)) }
}
