import CoherenceIdentityMap

/// The feed as an application has it.
struct FeedClient: Sendable {
  let store: EntityStore
  let server: FeedServer

  var ids: [Int] { store.find(named: .feed).value?.map(\.id) ?? [] }

  /// Loads the pages from a cursor on, one after the other.
  /// - Parameter limit: The maximal number of pages.
  /// - Returns: The number of posts that each page added to the feed, and the cursor of the next page.
  func load(from cursor: Int? = nil, limit: Int = .max) async -> (added: [Int], cursor: Int?) {
    var (next, added): (Int?, [Int]) = (cursor, [])
    repeat {
      let page = await server.page(from: next, count: 6)
      added.append(store.append(entities: page.posts, named: .feed))
      next = page.cursor
    } while next != nil && added.count < limit
    return (added, next)
  }

  /// Inserts a post at the top of the feed at once, and publishes it.
  /// - Parameter meanwhile: Called after the tentative change, and before the reply of the server.
  /// - Returns: Whether the server accepted the post.
  func publish(_ text: String, by author: User, meanwhile: () async -> Void) async -> Bool {
    let change = store.optimistically { $0.insert(Post(id: -1, text: text, author: author), named: .feed) }
    await meanwhile()
    do {
      change.commit(replacingWith: try await server.publish(text, by: author))
      return true
    } catch {
      change.rollback()
      return false
    }
  }
}
