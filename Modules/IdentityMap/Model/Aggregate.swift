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
/// Aggregates may contain each other. An occurrence that closes a circle keeps the value that it was stored with, but
/// for the entity that is read: what that one contains directly is always current.
public protocol Aggregate: Identifiable, Sendable {
  /// Where the entities are that this one contains. Asked for each value that is stored, so that it may depend on the
  /// value.
  var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] { get }
}
