import Coherence
import Foundation
import Testing

@Suite("The article about fetching, streams and explanations")
struct StreamsGuideTests {
  @Test func `a stream reads the values of records`() async throws {
    let container = try await Catalogue.filledContainer()
    let context = container.newBackgroundContext()
    var titles: [String] = []
    for try await album in context.stream(FetchRequest(Album.self).sort(\.title)) {
      titles.append(album.title)
    }
    withExtendedLifetime(container) {}
    #expect(titles == ["Miss Perfumado", "Pastel Blues", "Wild Is the Wind"])
  }

  @Test func `batches of objects are changed and saved`() async throws {
    let container = try await Catalogue.filledContainer()
    let context = container.newBackgroundContext()
    try await context.forEachBatch(of: FetchRequest(Album.self), batchSize: 500) { albums in
      for album in albums { album.title = album.title.uppercased() }
      try albums.first?.managedObjectContext?.save()
    }
    let titles = try await container.performBackgroundTask { context in
      try context.fetch(FetchRequest(Album.self).sort(\.title)).map(\.title)
    }
    #expect(titles == ["MISS PERFUMADO", "PASTEL BLUES", "WILD IS THE WIND"])
  }

  @Test func `an explanation names the evaluators of the predicate and of the order`() async throws {
    let container = try await Catalogue.filledContainer()
    let places = try await container.performBackgroundTask { context in
      let explanation = try context.explain(
        FetchRequest(Album.self).filter { $0.year > 1960 && $0.title.matches("P.*") }.sort(\.year))
      print(explanation.predicate, explanation.order)  // SQLite: context store
      print(explanation)
      return [explanation.predicate, explanation.order]
    }
    // The store in memory evaluates every predicate.
    #expect(places == [.store, .store])
  }
}
