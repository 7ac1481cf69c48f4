import Coherence
import Testing

@Suite("The article about tests: one statement for each object")
struct RepeatedFaultsGuideTests {
  @Test func `objects of one fetch load their members together`() async throws {
    let container = try await Catalogue.filledContainer()
    let context = container.newBackgroundContext()
    var titles: [String] = []
    context.faultPolicy = .report(after: 10) { repetition in print(repetition) }
    try expectNoRepeatedFaults {
      try context.performAndWait {
        let albums = try context.fetch(FetchRequest(Album.self))
        titles = albums.flatMap { $0.tracks.map(\.title) }
      }
    }
    #expect(titles.contains("Sinnerman"))
  }
}
