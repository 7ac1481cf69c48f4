import CoherenceIdentityMap

/// Somebody who writes. In the store there is one of each, however many messages they are the author of.
struct Author: Identifiable, Equatable {
  let id: Int
  var name: String
  var isAway = false
}

/// What somebody wrote.
struct Message: Aggregate, Equatable {
  let id: Int
  var text: String
  var likes = 0
  var author: Author

  // `@Aggregate` of CoherenceMacros writes this.
  var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] { [.init(\.author)] }
}
