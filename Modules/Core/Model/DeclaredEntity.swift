/// The table of an entity's properties: a structure with a key for each stored property.
///
/// ```swift
/// struct Properties: EntityProperties {
///   static let table = Properties()
///   let title = AttributeKey<String>("title")
///   let album = ToOneKey<Album>("album")
/// }
/// ```
/// Requests, predicates and access by key take key paths of the table, such as `\.title`. The compiler refuses a
/// property that the table does not have.
public protocol EntityProperties: Sendable {
  /// The only value of the structure.
  static var table: Self { get }
}

/// A class that declares its entity: the name, the properties, and the declaration from which a model is built.
///
/// ```swift
/// final class Track: ManagedObject, DeclaredEntity {
///   struct Properties: EntityProperties {
///     static let table = Properties()
///     let title = AttributeKey<String>("title")
///     let album = ToOneKey<Album>("album")
///   }
///   var title: String {
///     get { self[Properties.table.title] }
///     set { self[Properties.table.title] = newValue }
///   }
///   var album: Album? {
///     get { self[Properties.table.album] }
///     set { self[Properties.table.album] = newValue }
///   }
///   static var entityName: String { "Track" }
///   static var entityDeclaration: Entity {
///     Entity(entityName, class: Track.self) {
///       Attribute("title", .string)
///       Relationship("album", toOne: Album.entityName)
///     }
///   }
/// }
/// ```
/// A class with subclasses declares the three static members as `class var`, and subclasses override them.
public protocol DeclaredEntity: ManagedObject {
  /// The table of the properties. In generic code a subclass has the table of the class that declares the conformance.
  associatedtype Properties: EntityProperties
  /// The name of the entity.
  static var entityName: String { get }
  /// The declaration of the entity, with its own properties only.
  static var entityDeclaration: Entity { get }
  /// The name of each stored property by the key path of its accessor, for predicates and sort descriptors of
  /// Foundation and for the own properties of subclasses. Empty by default. Read once for each class and then cached,
  /// so it must not change.
  ///
  /// A key path includes its root class: a subclass lists inherited properties with key paths that begin at the
  /// subclass.
  static var propertyNames: [AnyKeyPath: String] { get }
}

extension DeclaredEntity {
  /// No names: predicates and sort descriptors of Foundation cannot name properties of the class.
  public static var propertyNames: [AnyKeyPath: String] { [:] }
}

/// A declared class that inherits the conformance to ``DeclaredEntity`` from a declared superclass.
///
/// An inherited conformance keeps the table of the superclass. Typed expressions therefore find the inherited
/// properties in the table, and the own properties of the subclass by the key paths of its writable accessors.
public protocol DeclaredSubentity: DeclaredEntity {}
