import CoherenceIdentityMap

/// The author of messages. The store contains one value for each author, for any number of messages.
struct Author: Identifiable, Equatable {
  let id: Int
  var name: String
  var isAway = false
}

/// A message of the chat.
struct Message: Aggregate, Equatable {
  let id: Int
  var text: String
  var likes = 0
  var author: Author

  // `@Aggregate` of CoherenceMacros writes this.
  var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] { [.init(\.author)] }
}
