import CoherenceMacros

struct Author: Identifiable, Equatable, Sendable {
  let id: Int
  var name: String
}

struct Tag: Identifiable, Hashable, Sendable {
  let id: String
  var color = "grey"
}

@EntityWrapper enum Media: Equatable, Sendable {
  case portrait(Author)
  case interview(with: Author, by: Author, minutes: Int)
  case tags([Tag])
  case credited(Author?)
  case byRole([String: Author])
  case byTeam([String: [Author]]?)
  case drafts([Author?])
  case columns([[Author]])
  case link(String)
  case nothing
}

/// Something without an identity.
@EntityWrapper struct Page: Equatable, Sendable {
  var number = 1
  var authors: [Author]
}

@Aggregate struct Post: Identifiable, Equatable {
  let id: Int
  var text = ""
  var author: Author
  var reviewer: Author?
  var readers: [Author] = []
  var drafts: [Author?] = []
  var columns: [[Author]] = []
  var tags: Set<Tag> = []
  var byRole: [String: Author] = [:]
  var byTeam: [String: [Author]] = [:]
  var media = Media.nothing
  var cover: Media?
  var gallery: [Media] = []
  var page: Page?
  @NotNested var firstAuthor: Author?
  var likes = 0 {
    didSet { if likes < 0 { likes = 0 } }
  }
  /// Computed, so that it is no place.
  var mainReader: Author? { readers.first }
}

@Aggregate struct Thread: Identifiable, Equatable {
  let id: Int
  var posts: [Post]
}

/// An aggregate with a type parameter.
@Aggregate struct Box<Content: Identifiable & Sendable & Equatable>: Identifiable, Equatable where Content.ID == Int {
  let id: Int
  var content: Content
}
