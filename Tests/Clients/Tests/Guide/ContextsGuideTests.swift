import Coherence
import Testing

actor Librarian {
  private let context: ManagedObjectContext
  private var latest: Album?

  nonisolated var unownedExecutor: UnownedSerialExecutor { context.asUnownedSerialExecutor() }

  init(in container: any PersistentContainer) { context = container.newBackgroundContext() }

  func add(_ title: String) throws {
    let album = try Album(context: context)
    album.title = title
    try context.save()
    latest = album
  }

  var latestTitle: String? { latest?.title }
}

@Suite("The article about contexts")
struct ContextsGuideTests {
  @Test func `a background task returns values and an identifier leads to the object in the view`() async throws {
    let container = try await Catalogue.filledContainer()
    defer { withExtendedLifetime(container) {} }
    let id = try await container.performBackgroundTask { context in
      let album = try Album(context: context)
      album.title = "Silk & Soul"
      try context.save()
      return album.objectID
    }
    let title = try await container.viewContext.perform { view in
      try view.existingObject(with: id, as: Album.self).title
    }
    #expect(title == "Silk & Soul")
  }

  @MainActor static func titles(in container: any PersistentContainer) throws -> [String] {
    try container.mainContext.fetch(FetchRequest(Album.self)).map(\.title).sorted()
  }

  @MainActor @Test func `code on the main actor uses the view context directly`() async throws {
    let container = try await Catalogue.filledContainer()
    defer { withExtendedLifetime(container) {} }
    #expect(try Self.titles(in: container).count == 3)
  }

  @Test func `a context is used on the calling thread`() async throws {
    let container = try await Catalogue.filledContainer()
    defer { withExtendedLifetime(container) {} }
    let context = container.newBackgroundContext()
    let count = try context.performAndWait { try context.count(for: FetchRequest(Album.self)) }
    #expect(count == 3)
  }

  @Test func `an actor keeps the objects of its context`() async throws {
    let container = try Catalogue.container()
    defer { withExtendedLifetime(container) {} }
    let librarian = Librarian(in: container)
    try await librarian.add("Silk & Soul")
    #expect(await librarian.latestTitle == "Silk & Soul")
  }

  @Test func `a stream reports the records that a save inserted`() async throws {
    let container = try Catalogue.container()
    defer { withExtendedLifetime(container) {} }
    let changes = try container.entityChanges(of: "Album")
    let follower = Task {
      for await change in changes { return change.inserted.count }
      return 0
    }
    try await container.performBackgroundTask { context in
      try Album(context: context).title = "Silk & Soul"
      try context.save()
    }
    #expect(await follower.value == 1)
  }

  @Test func `two reads of a snapshot see one state`() async throws {
    let container = try await Catalogue.filledContainer()
    defer { withExtendedLifetime(container) {} }
    let context = container.newBackgroundContext()
    let counts = try await context.perform { context in
      try context.withSnapshot {
        [try context.count(for: FetchRequest(Album.self)), try context.count(for: FetchRequest(Track.self))]
      }
    }
    #expect(counts == [3, 3])
  }

  @Test func `a pinned snapshot is read in several blocks, and moves forward on request`() async throws {
    let container = try await Catalogue.filledContainer()
    defer { withExtendedLifetime(container) {} }
    let context = container.newBackgroundContext()
    try await context.perform { context in try context.pinSnapshot() }
    let albums = try await context.perform { context in try context.count(for: FetchRequest(Album.self)) }
    try await container.performBackgroundTask { context in
      for album in try context.fetch(FetchRequest(Album.self)) { context.delete(album) }
      try context.save()
    }
    let pinned = try await context.perform { context in try context.count(for: FetchRequest(Album.self)) }  // as before
    try await context.perform { context in try context.advanceSnapshot() }
    let present = try await context.perform { context in try context.count(for: FetchRequest(Album.self)) }  // none
    try await context.perform { context in context.unpinSnapshot() }
    #expect([albums, pinned, present] == [3, 3, 0])
  }

  @Test func `a child context saves into its parent alone`() async throws {
    let container = try await Catalogue.filledContainer()
    defer { withExtendedLifetime(container) {} }
    let context = container.newBackgroundContext()
    let form = ManagedObjectContext(parent: context)
    try await form.perform { form in
      try Album(context: form).title = "Draft"
      try form.save()  // into `context`, in memory
    }
    try await context.perform { context in try context.save() }  // into the store
    let view = container.viewContext
    let count = try await view.perform { try view.count(for: FetchRequest(Album.self)) }
    #expect(count == 4)
  }

  @MainActor @Test func `a form on the main actor is a child of the view`() async throws {
    let container = try await Catalogue.filledContainer()
    defer { withExtendedLifetime(container) {} }
    let id = try #require(
      try container.mainContext.fetchFirst(FetchRequest(Album.self).filter { $0.year == 1965 })?.objectID)
    let view = container.mainContext
    let form = ManagedObjectContext(concurrencyType: .mainQueue, parent: view)
    let draft = try form.existingObject(with: id, as: Album.self)
    draft.title = "Pastel Blue"
    try form.save()  // into the view, in memory
    try view.save()  // into the store
    let titles = try await container.performBackgroundTask { context in
      try context.fetch(FetchRequest(Album.self).filter { $0.year == 1965 }).map(\.title)
    }
    #expect(titles == ["Pastel Blue"])
  }
}
