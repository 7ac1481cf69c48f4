/// An entity that contains other entities.
///
/// The store keeps one value of each entity. When a nested entity changes, every aggregate that contains it shows the
/// change, and when an aggregate is stored, so are the entities in it.
///
/// ```swift
/// struct AuthorBooks: Aggregate {
///   var id: Author.ID { author.id }
///   var author: Author
///   var books: [Book]
///
///   var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] {
///     [.init(\.author), .init(\.books)]
///   }
/// }
/// ```
///
/// Aggregates may contain each other. An entity that closes a cycle is current where it is nested directly in the
/// entity of a read; deeper in the value, it has the value with which it was stored. The closure of a confirmed update
/// receives that value at every level, and its change of such an entity does not count: update the entity by its own
/// identifier. After the end of the cycle, this applies until the aggregate that contains the entity is stored or
/// updated.
public protocol Aggregate: Identifiable, Sendable {
  /// The key paths to the nested entities. Called for each stored value, so that they may depend on the value.
  var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] { get }
}
