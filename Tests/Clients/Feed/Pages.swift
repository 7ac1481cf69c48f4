import CoherenceIdentityMap

extension Feed {
  /// A feed of three pages, with posts of one's own while it is loaded.
  static func readAndWrite() async {
    let ada = User(id: 1, name: "Ada")
    let posts = (1...16).reversed().map { Post(id: $0, text: "post \($0)", author: ada) }
    let client = FeedClient(store: EntityStore(), server: FeedServer(posts: posts))
    let (added, cursor) = await client.load(limit: 2)
    print("two pages add \(added) posts, the next one begins with \(cursor ?? 0)")

    let isTaken = await client.publish("hello", by: ada) {
      print("before the answer: \(client.ids.prefix(3))")
      let (added, _) = await client.load(from: cursor)
      print("the last pages add \(added) posts")
    }
    print("taken: \(isTaken), \(client.ids.prefix(3))")

    let isRefused = await !client.publish("", by: ada) {
      print("before the error: \(client.ids.prefix(3))")
      _ = client.store.remove(Post.self, id: 16)
    }
    print("refused: \(isRefused), \(client.ids.prefix(3))")

    let served = await client.server.posts.map(\.id).filter { $0 != 16 }
    print("\(client.ids.count) posts, as the server has them: \(client.ids == served)")
    client.store.remove(User.self, id: 1)
    let names = Set(client.store.find(named: .feed).value?.map(\.author.name) ?? [])
    print("after the account is deleted: \(client.ids.count) posts by \(names.sorted())")
  }
}
