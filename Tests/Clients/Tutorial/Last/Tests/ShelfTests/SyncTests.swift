import Coherence
import CoherenceHTTP
import Foundation
import Testing

@testable import shelf

@Suite("The synchronisation of a shelf")
struct SyncTests {
  /// A client that replies with an artist and two pages of albums, once each.
  private func replay(title: String = "Pastel Blues") -> HTTPReplay {
    HTTPReplay([
      HTTPExchange(
        url: "https://music.example/artists.json", body: .text(#"{"records": [{"name": "Nina Simone"}]}"#)),
      HTTPExchange(
        url: "https://music.example/albums-1.json",
        body: .text(
          """
          {"records": [{"code": "1", "title": "\(title)", "year": 1965, "artist": "Nina Simone"}],
          "next": "albums-2.json"}
          """)),
      HTTPExchange(
        url: "https://music.example/albums-2.json",
        body: .text(#"{"records": [{"code": "2", "title": "Wild Is the Wind", "artist": "Nina Simone"}]}"#)),
    ])
  }

  private func sync(_ shelf: Shelf, by http: any HTTPClient) async throws -> (inserted: Int, updated: Int) {
    try await shelf.sync(with: try #require(URL(string: "https://music.example")), by: http)
  }

  @Test func `all pages are merged`() async throws {
    let shelf = try await Shelf(in: .inMemory)
    let http = replay()
    let count = try await sync(shelf, by: http)
    #expect(count == (3, 0))
    #expect(http.remaining.isEmpty)
    #expect(try await shelf.lines().count == 2)
  }

  @Test func `a second synchronisation changes only values that differ, and keeps marks and tracks of the user`()
    async throws
  {
    let shelf = try await Shelf(in: .inMemory)
    try await shelf.add("Pastel", code: "1", by: "Nina Simone", tracks: ["Sinnerman"])
    try await shelf.markFavourite(code: "1")
    _ = try await sync(shelf, by: replay())
    #expect(try await sync(shelf, by: replay()) == (0, 0))
    #expect(try await sync(shelf, by: replay(title: "Pastel Blues (Mono)")) == (0, 1))
    #expect(try await shelf.lines().first == "* Nina Simone: Pastel Blues (Mono), 1 tracks")
  }

  @Test func `without a service the shelf keeps the albums`() async throws {
    let shelf = try await Shelf(in: .inMemory)
    _ = try await sync(shelf, by: replay())
    do {
      _ = try await sync(
        shelf, by: HTTPReplay([HTTPExchange(url: "https://music.example/artists.json", status: 503)]))
      Issue.record("An unreachable service is no error.")
    } catch let error as CoherenceError where error.isRetryable {}
    #expect(try await shelf.lines().count == 2)
  }
}
