import Coherence
import Testing

@testable import shelf

@Suite("A shelf")
struct ShelfTests {
  @Test func `the view shows an album that a background task saved`() async throws {
    let shelf = try await Shelf(in: .inMemory)
    try await shelf.add("Pastel Blues", code: "PHM 600-187", by: "Nina Simone", tracks: ["Strange Fruit", "Sinnerman"])
    try await shelf.markFavourite(code: "PHM 600-187")
    #expect(try await shelf.lines() == ["* Nina Simone: Pastel Blues, 2 tracks"])
  }

  @Test func `a second album with the same code is refused`() async throws {
    let shelf = try await Shelf(in: .inMemory)
    try await shelf.add("Pastel Blues", code: "PHM 600-187", by: "Nina Simone")
    do {
      try await shelf.add("Silk & Soul", code: "PHM 600-187", by: "Nina Simone")
      Issue.record("The code is not unique.")
    } catch ErrorCode.uniquenessViolated {}
    #expect(try await shelf.lines().count == 1)
  }

  @Test func `the albums of a deleted artist are deleted`() async throws {
    let shelf = try await Shelf(in: .inMemory)
    try await shelf.add("Pastel Blues", code: "PHM 600-187", by: "Nina Simone", tracks: ["Sinnerman"])
    let tracks = try await shelf.connect.performBackgroundTask { context in
      for artist in try context.fetch(FetchRequest(Artist.self)) { context.delete(artist) }
      try context.save()
      return try context.count(for: FetchRequest(Track.self))
    }
    #expect(tracks == 0)
    #expect(try await shelf.lines().isEmpty)
  }
}
