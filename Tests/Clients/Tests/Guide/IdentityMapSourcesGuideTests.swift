import Coherence
import CoherenceIdentityMap
import Testing

/// Fetches the posts of a feed, and stores them for every view that shows one of them.
struct FetchFeed: AsyncGenericAction {
  let store: EntityStore
  let posts: @Sendable () async throws -> [Post]

  func execute() async throws {
    let page = try await posts()
    store.store(page, named: .feed)
  }
}

/// The albums of a container, as values of an identity map.
struct AlbumFeed: Sendable {
  let store: EntityStore
  let albums = AliasKey<[Album.Snapshot]>("albums")

  /// Keeps the list equal to the saved albums of the container, until the task is cancelled.
  func follow(_ container: any PersistentContainer) async throws {
    var changes = try container.entityChanges(of: Album.entityName).makeAsyncIterator()
    repeat {
      let saved = try await container.performBackgroundTask { context in
        try context.snapshots(of: FetchRequest(Album.self).sort(\.title))
      }
      store.store(saved, named: albums)
    } while await changes.next() != nil
  }
}

@Suite("The article about the identity map, with actions and records", .timeLimit(.minutes(1)))
struct IdentityMapSourcesGuideTests {
  @Test func `an action feeds the observers of an identity map`() async throws {
    let connect = GenericConnect<ContextStrategy.Mixed>(name: "Feed", managedObjectModel: try Catalogue.model())
    try connect.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
    try await connect.start()
    let posts = [Post(id: 1, text: "Hello", author: Author(id: 7, name: "Ada"))]
    let store = EntityStore()
    let feed = store.find(named: .feed).observed(on: .main)  // a view reads `feed.value`
    try await connect.execute(FetchFeed(store: store, posts: { posts })).value
    #expect(store.value(named: .feed) == posts)
    for await shown in store.find(named: .feed).values where shown == posts { break }
    withExtendedLifetime(feed) {}
    try await connect.stop()
  }

  @Test func `saved records are values of an identity map`() async throws {
    let container = try Catalogue.container()
    defer { withExtendedLifetime(container) {} }
    let feed = AlbumFeed(store: EntityStore())
    let follower = Task { try await feed.follow(container) }
    defer { follower.cancel() }
    try await container.performBackgroundTask { context in
      try Album(context: context).title = "Silk & Soul"
      try context.save()
    }
    let shown = feed.store.find(named: feed.albums)
    for await albums in shown.values where albums?.map(\.title) == ["Silk & Soul"] { break }
  }
}
