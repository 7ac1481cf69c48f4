import CoherenceCore
import Foundation
import Testing

@Suite struct QueryFoundationPredicateTests {
  typealias Album = QueryLibrary.Album
  typealias Track = QueryLibrary.Track

  private func format<Root: DeclaredEntity>(_ predicate: Foundation.Predicate<Root>) throws -> String {
    try FetchPredicate(predicate).description
  }

  @Test func `comparisons and logic are converted`() throws {
    #expect(try format(#Predicate<Album> { $0.title == "x" && $0.rating > 2 }) == "title == \"x\" AND rating > 2.0")
    #expect(try format(#Predicate<Album> { $0.title != "x" || !$0.isLive }) == "title != \"x\" OR NOT (isLive == TRUE)")
    #expect(try format(#Predicate<Album> { $0.year == nil }) == "year == NULL")
    #expect(try format(#Predicate<Track> { $0.length >= 1 && $0.length <= 2 }) == "length >= 1 AND length <= 2")
  }

  @Test func `paths over to-one relationships are converted`() throws {
    #expect(try format(#Predicate<Album> { $0.artist?.name == "x" }) == "artist.name == \"x\"")
    #expect(try format(#Predicate<Track> { $0.album?.artist?.name == "x" }) == "album.artist.name == \"x\"")
  }

  @Test func `texts, lists and ranges are converted`() throws {
    let lengths = [1, 2]
    #expect(try format(#Predicate<Album> { $0.title.contains("x") }) == "title CONTAINS \"x\"")
    #expect(try format(#Predicate<Album> { $0.title.starts(with: "x") }) == "title BEGINSWITH \"x\"")
    #expect(try format(#Predicate<Track> { lengths.contains($0.length) }) == "length IN {1, 2}")
    #expect(try format(#Predicate<Track> { (1...2).contains($0.length) }) == "length BETWEEN {1, 2}")
    #expect(try format(#Predicate<Track> { (1..<2).contains($0.length) }) == "length >= 1 AND length < 2")
  }

  @Test func `conditions on members are converted`() throws {
    #expect(
      try format(#Predicate<Album> { $0.tracks.contains { $0.length > 3 } }) == "ANY tracks (length > 3)")
    #expect(try format(#Predicate<Album> { $0.tracks.allSatisfy { $0.length > 3 } }) == "ALL tracks (length > 3)")
    #expect(try format(#Predicate<Album> { $0.tracks.count > 3 }) == "tracks.@count > 3")
  }

  @Test func `empty relationships, booleans, unwrapped values and captured ranges are converted`() throws {
    let closed = 1...2
    let open = 1..<3
    #expect(try format(#Predicate<Album> { $0.tracks.isEmpty }) == "tracks.@count == 0")
    #expect(try format(#Predicate<Album> { $0.isLive }) == "isLive == TRUE")
    #expect(try format(#Predicate<Album> { $0.isLive && $0.year! > 3 }) == "isLive == TRUE AND year > 3")
    #expect(try format(#Predicate<Track> { closed.contains($0.length) }) == "length BETWEEN {1, 2}")
    #expect(try format(#Predicate<Track> { open.contains($0.length) }) == "length >= 1 AND length < 3")
  }

  @Test func `an unsupported expression is named in the error`() throws {
    let error = #expect(throws: CoherenceError.self) { try format(#Predicate<Track> { $0.length + 1 == 2 }) }
    #expect(error?.code == .invalidPredicate)
    #expect(error?.message.contains("Arithmetic") == true)
    #expect(error?.message.contains("compute the value before the predicate") == true)
  }

  @Test func `an empty text and a constant are converted, and the length of a text is not`() throws {
    #expect(try format(#Predicate<Album> { $0.title.isEmpty }) == "title == \"\"")
    #expect(try format(Foundation.Predicate<Album>.true) == "TRUEPREDICATE")
    let error = #expect(throws: CoherenceError.self) { try format(#Predicate<Album> { $0.title.count > 3 }) }
    #expect(error?.code == .invalidPredicate)
    #expect(error?.message.contains("'title'") == true && error?.message.contains("isEmpty") == true)
  }

  @Test func `a condition on members uses the records around the member`() throws {
    #expect(
      try format(#Predicate<Album> { album in album.tracks.contains { $0.title == album.title } })
        == "SUBQUERY(tracks, $x, $x.title == title).@count > 0")
  }
}
