/// Makes a class an entity of a model: its variables are the entity's properties.
///
/// ```swift
/// @Entity final class Track: ManagedObject {
///   @Attribute(.unique) var isrc: String
///   var title = ""
///   var length: Duration
///   var createdAt = Date()
///   @Attribute(.codable) var tags: [String]
///   @Relationship(inverse: \Album.tracks) var album: Album?
///   var genres: ToMany<Genre>
///   @Transient var isPlaying = false
///   #Index<Track>([\.title])
/// }
/// ```
///
/// Each stored variable becomes a property of the entity. A variable of type `ToMany` or `OrderedToMany`, with
/// `@Relationship`, or of the optional of an entity's class, is a relationship; any other variable is an attribute,
/// optional if its type is. Computed and static variables stay as they are, and so do the variables with
/// ``Transient()``. A variable without a type annotation has the type of its literal, or of its call of an initialiser.
///
/// A literal without interpolation is the model's default, and so is a named value of the property's type, such as a
/// case of an enumeration. Any other initial value, and a named value of a date or a UUID such as `.now`, is evaluated
/// for each new object, before `awakeFromInsert()`. The initial value of a codable or composite attribute is the model's
/// default.
///
/// The macro writes the accessors, the property table `Properties`, the structure `Snapshot`, `entityName`,
/// `entityDeclaration`, `propertyNames`, and if needed `initializeDefaults` and `deletionHooks`, with the access level
/// of the class, and the conformances to `DeclaredEntity` and `SnapshotProviding`. An access costs as much as an access
/// with a handwritten `AttributeKey`. The class inherits from `ManagedObject` directly;
/// ``Subentity(_:abstract:formerNames:userInfo:)`` declares its subclasses. A class cannot be named `Object`, `Properties`
/// or `Snapshot`, because the types of these names within the class would hide it; its entity can.
///
/// - Parameters:
///   - name: The name of the entity; the name of the class if `nil`.
///   - abstract: Whether only subentities have objects.
///   - formerNames: The names that the entity had in earlier models, the latest first.
///   - userInfo: Texts of the application by key.
@attached(
  member, names: named(Properties), named(entityName), named(entityDeclaration), named(propertyNames),
  named(initializeDefaults), named(deletionHooks), named(Snapshot), named(snapshot), named(init(_:)))
@attached(memberAttribute)
@attached(extension, conformances: DeclaredEntity, SnapshotProviding)
public macro Entity(
  _ name: String? = nil, abstract: Bool = false, formerNames: [String] = [], userInfo: [String: String] = [:]
) = #externalMacro(module: "CoherenceModelMacrosPlugin", type: "EntityMacro")

/// Makes a class that inherits from an entity's class a subentity. The entity inherits the properties of its parent.
///
/// ```swift
/// @Subentity final class Single: Release {
///   var chart = 0
/// }
/// ```
///
/// The rules and the parameters are those of ``Entity(_:abstract:formerNames:userInfo:)``. The class has a property
/// table and a snapshot of its own, which give access to the inherited properties, and conforms to `DeclaredSubentity`.
@attached(
  member, conformances: DeclaredSubentity, names: named(Properties), named(entityName), named(entityDeclaration),
  named(propertyNames),
  named(initializeDefaults), named(deletionHooks), named(Snapshot), named(snapshot), named(init(_:)))
@attached(memberAttribute)
@attached(extension, conformances: DeclaredSubentity)
public macro Subentity(
  _ name: String? = nil, abstract: Bool = false, formerNames: [String] = [], userInfo: [String: String] = [:]
) = #externalMacro(module: "CoherenceModelMacrosPlugin", type: "EntityMacro")

/// Writes the accessors of a stored property. ``Entity(_:abstract:formerNames:userInfo:)`` and
/// ``Subentity(_:abstract:formerNames:userInfo:)`` add the attribute; user code does not need it.
@attached(accessor, names: named(get), named(set))
public macro _Stored() = #externalMacro(module: "CoherenceModelMacrosPlugin", type: "StoredMacro")

/// Leaves a variable out of the model: an ordinary stored variable of the object, lost with it.
@attached(peer)
public macro Transient() = #externalMacro(module: "CoherenceModelMacrosPlugin", type: "MarkerMacro")
