import Coherence
import Observation
import Synchronization
import Testing

@MainActor
@Suite("The article about live results")
struct LiveResultsGuideTests {
  /// Collects the results of a loop in the article, and changes the records after each result.
  @MainActor final class Screen {
    private(set) var shown: [[String]] = []
    private var steps: [@MainActor () throws -> Void]

    init(_ steps: @MainActor () throws -> Void...) { self.steps = steps }

    func show(_ texts: [String], _ count: Int = 0) -> Bool {
      shown.append(texts)
      guard !steps.isEmpty else { return false }
      do {
        try steps.removeFirst()()
      } catch {
        Issue.record(error)
      }
      return true
    }
  }

  private func rename(_ title: String, to name: String, in context: ManagedObjectContext) throws {
    for album in try context.fetch(FetchRequest(Album.self).filter { $0.title == title }) { album.title = name }
    try context.save()
  }

  @Test func `a request is followed`() async throws {
    let container = try await Catalogue.filledContainer()
    let context = container.viewContext
    let screen = Screen({ try self.rename("Pastel Blues", to: "Zungo", in: context) })
    func show(_ titles: [String]) -> Bool { screen.show(titles) }

    let request = FetchRequest(Album.self).filter { $0.year >= 1960 }.sort(\.title)
    for try await albums in try context.values(of: request) {
      let titles = try await context.perform { try albums.objects(in: $0).map(\.title) }
      guard show(titles) else { break }
    }
    #expect(
      screen.shown == [
        ["Miss Perfumado", "Pastel Blues", "Wild Is the Wind"], ["Miss Perfumado", "Wild Is the Wind", "Zungo"],
      ])
  }

  @Test func `changes are followed`() async throws {
    let container = try await Catalogue.filledContainer()
    let context = container.viewContext
    let request = FetchRequest(Album.self).sort(\.title)
    let screen = Screen({ try self.rename("Miss Perfumado", to: "Zungo", in: context) })
    func show(_ titles: [String], _ count: Int) -> Bool { screen.show(titles, count) }

    var titles: [String] = []
    for try await changes in try context.changes(of: request) {
      changes.apply(to: &titles) { id in (context.object(with: id) as? Album)?.title ?? "" }
      guard show(titles, changes.changes.count) else { break }
    }
    #expect(screen.shown.last == ["Pastel Blues", "Wild Is the Wind", "Zungo"])
  }

  @Test func `sections are followed`() async throws {
    let container = try await Catalogue.filledContainer()
    let context = container.viewContext
    let request = FetchRequest(Album.self).sort(\.year)
    let screen = Screen()
    func show(_ counts: [String]) -> Bool { screen.show(counts) }

    for try await albums in try context.values(of: request, sectionKeyPath: "year") {
      let counts = albums.sections.map { "\($0.name): \($0.count)" }
      guard show(counts) else { break }
    }
    #expect(screen.shown.first?.count == 3)
  }

  @Test func `a controller keeps a list on the main actor`() async throws {
    let container = try await Catalogue.filledContainer()
    let list = try AlbumList(container.viewContext)
    #expect(list.titles == ["Miss Perfumado", "Pastel Blues", "Wild Is the Wind"])
    try await container.performBackgroundTask { context in
      for album in try context.fetch(FetchRequest(Album.self).filter { $0.title == "Miss Perfumado" }) {
        album.title = "Zungo"
      }
      try context.save()
    }
    container.viewContext.performAndWait {}
    #expect(list.titles == ["Pastel Blues", "Wild Is the Wind", "Zungo"])
  }

  @Test func `a controller loads its objects by pages`() async throws {
    let container = try await Catalogue.filledContainer()
    let context = container.viewContext
    let album = try #require(
      try context.fetch(FetchRequest(Album.self).filter { $0.title == "Wild Is the Wind" }).first)
    let controller = FetchedResultsController(
      fetchRequest: FetchRequest(Album.self).sort(\.title).batchSize(50), managedObjectContext: context)
    try controller.performFetch()
    let first = controller.object(at: 0).title
    let index = controller.index(for: album)
    #expect(first == "Miss Perfumado" && index == 2)
  }

  @Test func `a property of an object is followed`() async throws {
    let container = try await Catalogue.filledContainer()
    let context = container.viewContext
    let album = try #require(try context.fetch(FetchRequest(Album.self).sort(\.title)).first)
    let screen = Screen({ try self.rename("Miss Perfumado", to: "Zungo", in: context) })
    func show(_ texts: [String]) -> Bool { screen.show(texts) }

    for try await title in try context.values(of: album, \.title) {
      guard show([title]) else { break }
    }
    #expect(screen.shown == [["Miss Perfumado"], ["Zungo"]])
  }

  @Test func `a view tracks a list and an object`() async throws {
    let container = try await Catalogue.filledContainer()
    let context = container.viewContext
    let first = try #require(try context.fetch(FetchRequest(Album.self).sort(\.title)).first)
    let updates = Mutex(0)
    var rendered: [String] = []
    func render(_ titles: [String], selected: String) { rendered = titles + [selected] }
    @Sendable func scheduleUpdate() { updates.withLock { $0 += 1 } }

    let albums = try context.observed(FetchRequest(Album.self).sort(\.title))
    let album = try context.observed(first)
    withObservationTracking {
      render(albums.objects.map(\.title), selected: album.title)
    } onChange: {
      scheduleUpdate()
    }
    #expect(rendered == ["Miss Perfumado", "Pastel Blues", "Wild Is the Wind", "Miss Perfumado"])
    try rename("Miss Perfumado", to: "Zungo", in: context)
    context.performAndWait {}
    #expect(updates.withLock { $0 } == 1)
    #expect(album.title == "Zungo" && albums.objects.last === first)
  }
}

@MainActor final class AlbumList {
  let controller: FetchedResultsController<Album>
  private(set) var titles: [String] = []

  init(_ context: ManagedObjectContext) throws {
    controller = FetchedResultsController(
      fetchRequest: FetchRequest(Album.self).sort(\.title), managedObjectContext: context)
    try controller.performFetch()
    titles = controller.fetchedObjects.map(\.title)
    controller.delegate = self
  }
}

extension AlbumList: @MainActor FetchedResultsControllerDelegate {
  func controller(_ controller: FetchedResultsController<Album>, didChange changes: ResultChanges<Album>) {
    changes.apply(to: &titles) { id in
      (controller.managedObjectContext.object(with: id) as? Album)?.title ?? ""
    }
  }
}
