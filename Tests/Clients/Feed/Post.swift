import CoherenceIdentityMap

struct User: Identifiable, Equatable, Sendable {
  let id: Int
  var name: String
  /// The server raises it with each change of the user, and that of the user's posts with it.
  var revision = 0
}

struct Post: Aggregate, Equatable {
  let id: Int
  var text: String
  var revision = 0
  var author: User

  // The posts of a deleted account keep the last name of their author.
  var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] { [.init(\.author).onRemoval(.keepLastValue)] }
}

extension AliasKey where T == [Post] {
  static let feed = AliasKey("feed")
}
