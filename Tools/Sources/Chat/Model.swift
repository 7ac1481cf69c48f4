import CoherenceMacros

/// The author of messages. The store contains one value for each author, for any number of messages.
struct Author: Identifiable, Equatable {
  let id: Int
  var name: String
  var isAway = false
}

/// A message of the chat.
@Aggregate struct Message: Identifiable, Equatable {
  let id: Int
  var text: String
  var likes = 0
  var author: Author
}
