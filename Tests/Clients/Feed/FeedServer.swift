/// The service that the feed is of.
actor FeedServer {
  struct Rejection: Error {}

  struct Page: Sendable {
    let posts: [Post]
    /// The first post of the next page; `nil` on the last page.
    let cursor: Int?
  }

  /// The newest first.
  private(set) var posts: [Post]

  init(posts: [Post]) {
    self.posts = posts
  }

  /// A page that begins with the post of a cursor, which the page before has too.
  func page(from cursor: Int?, count: Int) -> Page {
    let start = cursor.flatMap { cursor in posts.firstIndex { $0.id == cursor } } ?? 0
    let page = Array(posts[start...].prefix(count))
    return Page(posts: page, cursor: start + page.count < posts.count ? page.last?.id : nil)
  }

  /// - Returns: The post with the identifier that it has from now on.
  func publish(_ text: String, by author: User) throws -> Post {
    if text.isEmpty { throw Rejection() }
    let post = Post(id: (posts.map(\.id).max() ?? 0) + 1, text: text, author: author)
    posts.insert(post, at: 0)
    return post
  }
}
