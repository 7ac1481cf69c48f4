import CoherenceCore
import Foundation
import Testing

@Suite struct QueryEvaluationTests {
  private static let least = Int64.min
  private static let greatest = Int64.max

  let library: QueryLibrary
  let album: QueryLibrary.Record

  init() throws {
    library = try QueryLibrary()
    album = try library.makeAlbum()
  }

  func holds(_ format: String, _ arguments: (any Sendable)?...) throws -> Bool {
    try library.holds(try FetchPredicate(format: format, arguments: arguments), for: album)
  }

  @Test(arguments: [
    "year == 1990", "year != 1991", "year < 1991", "year <= 1990", "year > 1989", "year >= 1990", "1989 < year",
    "year BETWEEN {1990, 1991}", "year IN {1, 1990}", "year == 1990.0", "year < 1990.5", "rating > 4", "rating == 4.5",
    "price == 9.99", "price < 10", "price > 9", "weight == 0.5", "isLive == YES", "isLive == 1", "mood == 'wild'",
    "size.width == 30", "year != rating", "rating < year", "price < year", "TRUEPREDICATE", "NOT FALSEPREDICATE",
  ])
  func `a true comparison holds and its negation does not`(format: String) throws {
    #expect(try holds(format))
    #expect(try !holds("NOT (\(format))"))
  }

  @Test(arguments: [
    "subtitle == NULL", "NULL == subtitle", "subtitle != 'x'", "NOT subtitle == 'x'", "NOT (subtitle < 'x')",
    "NOT (subtitle >= 'x')", "NOT (subtitle BEGINSWITH '')", "NOT (title < NULL)", "NOT (subtitle < NULL)",
    "subtitle IN {NULL, 'x'}", "NOT (subtitle IN {'x'})", "NOT (subtitle BETWEEN {'a', 'z'})",
    "NOT (title BETWEEN {NULL, 'z'})", "producer == NULL", "producer.name == NULL", "producer.name != 'x'",
    "subtitle == producer.name", "NOT (subtitle != producer.name)", "NOT (subtitle <= producer.name)",
    "NOT (title CONTAINS subtitle)", "artist != NULL", "subtitle !=[c] 'x'", "NOT subtitle ==[cd] 'x'",
  ])
  func `a missing value equals only a missing value and makes other comparisons false`(format: String) throws {
    #expect(try holds(format))
  }

  @Test(arguments: [
    "title BEGINSWITH 'Blue'", "title ENDSWITH 'Note'", "title CONTAINS 'e N'", "title CONTAINS ''",
    "title LIKE 'Bl*te'", "title LIKE 'B?ue*'", "NOT title LIKE 'Blue'", "title MATCHES 'B.*e'",
    "NOT title MATCHES 'Blue'", "title MATCHES 'Blue|Blue Note'", "title BEGINSWITH[c] 'blue'",
    "NOT title BEGINSWITH 'blue'", "title ==[c] 'BLUE NOTE'", "artist.name ==[cd] 'zoe akerman'",
    "artist.name BEGINSWITH[d] 'Zoe A'", "NOT artist.name ==[d] 'zoe akerman'", "title IN[c] {'x', 'blue note'}",
    "title MATCHES[c] 'blue note'", "artist.name MATCHES[cd] 'ZOE .*'", "title >[c] 'BLUE'",
    "title == title", "title CONTAINS mood OR TRUEPREDICATE", "artist.name CONTAINS artist.name", "title LIKE title",
  ])
  func `texts are compared as the operator and the options say`(format: String) throws {
    #expect(try holds(format))
  }

  @Test func `precomposed and decomposed texts differ unless diacritics are ignored`() throws {
    let artist = try library.make("Artist", ["name": "e\u{301}"])
    #expect(try !library.holds("name == %@", "\u{E9}", for: artist))
    #expect(try library.holds("name ==[d] %@", "\u{E9}", for: artist))
  }

  @Test(arguments: [
    "ANY tracks.length > 300", "NOT (ALL tracks.length > 300)", "ALL tracks.length > 100", "NONE tracks.length > 500",
    "SOME tracks.title BEGINSWITH 'O'", "tracks.@count == 2", "ANY tracks (length == 200 AND title == 'Opening')",
    "NOT (ANY tracks (length == 200 AND title == 'Closing'))", "ANY artist.albums.year == 1990",
    "ANY artist.albums.tracks.length == 400", "ALL artist.albums.tracks.length >= 200",
    "NONE artist.albums.tracks.length == 300", "ANY tracks.album.artist.name BEGINSWITH 'Zo'",
    "ANY tracks.album.size.width == 30", "artist.albums.@count == 1", "ANY artist.albums (tracks.@count == 2)",
    "ANY artist.albums.tracks.@count == 2",
  ])
  func `quantifiers and counts look at members, wherever on the path they are`(format: String) throws {
    #expect(try holds(format))
  }

  @Test func `a missing owner and an empty relationship have no members`() throws {
    for format in [
      "NOT (ANY producer.albums.year > 0)", "ALL producer.albums.year > 0", "NONE producer.albums.year > 0",
      "producer.albums.@count == 0",
    ] {
      #expect(try holds(format), "\(format)")
    }
    album.members["tracks"] = []
    #expect(try holds("ALL tracks.length > 500 AND NONE tracks.length > 0 AND NOT (ANY tracks.length > 0)"))
  }

  @Test func `objects are compared by identifier`() throws {
    let artist = try #require(album.targets["artist"])
    let tracks = try #require(album.members["tracks"])
    let other = try library.make("Artist", ["name": "Other"])
    #expect(try holds("artist == %@", artist.id))
    #expect(try holds("artist != %@", other.id))
    #expect(try holds("artist IN %@", [artist.id, other.id]))
    #expect(try holds("artist IN %@", [artist.id, nil]))
    #expect(try holds("SELF == %@", album.id))
    #expect(try holds("%@ IN tracks", tracks[1].id))
    #expect(try holds("tracks CONTAINS %@", tracks[0].id))
    #expect(try holds("ANY tracks == %@", tracks[0].id))
    #expect(try holds("artist.self == %@", artist.id))
    #expect(try !holds("producer.self == %@", artist.id))
  }

  @Test func `a property of a subentity is missing in records of other entities`() throws {
    let book = try library.make("Book", ["title": "Pages", "pages": 1990])
    book.targets["author"] = try library.make("Artist", ["name": "Author"])
    // Both subentities keep their first own attribute in the same slot.
    #expect(try !library.holds("year == 1990", for: book, as: "Item"))
    #expect(try library.holds("year == NULL AND artist == NULL AND artist.name == NULL", for: book, as: "Item"))
    #expect(try library.holds("pages == 1990 AND author.name == 'Author'", for: book, as: "Item"))
    #expect(try library.holds("year == 1990", for: album, as: "Item"))
    #expect(try library.holds("tracks.@count == 0 AND NOT (ANY tracks.length > 0)", for: book, as: "Item"))
  }

  @Test func `numbers are compared by value without loss`() throws {
    let big: Int64 = 1 << 53
    let track = try library.make("Track", ["title": "", "length": big + 1])
    #expect(try library.holds("length > %@", Double(big), for: track))
    #expect(try !library.holds("length == %@", Double(big), for: track))
    #expect(try library.holds("length < %@", Double.infinity, for: track))
    album.values[try #require(album.entity.attribute(named: "rating")).slot] = .double(.infinity)
    #expect(try holds("rating > price AND rating > %@", Decimal(5)))
    #expect(try holds("price < %@ AND price > %@ AND price > %@", Double.infinity, -1e300, 1e-300))
  }

  @Test(arguments: [
    ("length < %@", least, least, false), ("length < %@", least + 1, least, true),
    ("length <= %@", least, least, true), ("%@ > length", least, least, false),
    ("length > %@", greatest, greatest, false), ("length > %@", greatest - 1, greatest, true),
    ("length >= %@", greatest, greatest, true), ("length >= %@", greatest, greatest - 1, false),
    ("length <= %@", greatest, greatest, true), ("%@ < length", greatest, greatest, false),
    ("length == %@", greatest, greatest, true), ("length != %@", greatest, greatest, false),
    ("length < %@", 5, 5, false), ("length > %@", 5, 5, false),
  ])
  func `integers are compared at the ends of their range`(
    format: String, constant: Int64, length: Int64, holds: Bool
  ) throws {
    let track = try library.make("Track", ["title": "", "length": length])
    #expect(try library.holds(format, constant, for: track) == holds)
  }

  @Test(arguments: [
    ("aab", "ab", true), ("abcab", "cab", true), ("abcab", "abcab", true), ("abcab", "b", true), ("aaab", "aab", true),
    ("abcab", "abcabc", false), ("abcab", "cb", false), ("aaa", "aab", false), ("", "a", false), ("a", "", true),
    ("\u{E9}", "e", false),
  ])
  func `a text contains another one at its beginning, in its middle and at its end`(
    text: String, part: String, isContained: Bool
  ) throws {
    let artist = try library.make("Artist", ["name": text])
    #expect(try library.holds("name CONTAINS %@", part, for: artist) == isContained)
    #expect(try library.holds("name BEGINSWITH %@", part, for: artist) == text.utf8.starts(with: part.utf8))
    let isSuffix = text.utf8.reversed().starts(with: part.utf8.reversed())
    #expect(try library.holds("name ENDSWITH %@", part, for: artist) == isSuffix)
  }

  @Test func `a condition two levels within another one reads the records of each level`() throws {
    // The titles of the album and of its tracks differ.
    let inner = "SUBQUERY($t.album.tracks, $u, $u.length > $t.length AND title == 'Blue Note').@count == 1"
    #expect(try holds("SUBQUERY(tracks, $t, \(inner)).@count == 1"))
    #expect(try !holds("SUBQUERY(tracks, $t, \(inner.replacing("Blue Note", with: "Opening"))).@count == 1"))
    let names = "SUBQUERY($t.album.tracks, $u, $t.title == 'Opening' AND $u.title == 'Closing').@count == 1"
    #expect(try holds("SUBQUERY(tracks, $t, \(names)).@count == 1"))
  }

  @Test func `a double equals the decimal constant of its shortest digits, and no finer one`() throws {
    album.values[try #require(album.entity.attribute(named: "rating")).slot] = .double(0.1)
    let shortest = try #require(Decimal(string: "0.1"))
    #expect(try holds("rating == %@", shortest))
    let finer = try #require(Decimal(string: "0.10000000000000000001"))
    #expect(try !holds("rating == %@", finer))
    #expect(try holds("rating < %@", finer))
  }

  @Test func `a long list of values matches like a short one`() throws {
    let years = Array(1900...1999)
    #expect(try holds("year IN %@", years))
    #expect(try !holds("year IN %@", years.filter { $0 != 1990 }))
    #expect(try holds("rating IN %@", years.map { Double($0) } + [4.5]))
    #expect(try holds("title IN[c] %@", (0..<20).map { "title \($0)" } + ["BLUE NOTE"]))
  }

  @Test func `the documented entry evaluates against the record's own entity`() throws {
    #expect(try FetchPredicate(format: "year == 1990").evaluate(album, with: library))
    let book = try library.make("Book")
    let error = #expect(throws: CoherenceError.self) {
      try FetchPredicate(format: "year == 1990").evaluate(book, with: library)
    }
    #expect(error?.code == .unknownProperty)
  }

  @Test func `dependencies are the relationships followed and the other hierarchies reached`() throws {
    let predicate = try FetchPredicate(format: "artist.name == 'x' AND ANY tracks.album.year > 1 AND producer != NULL")
    let entity = try library.entity("Album")
    let dependencies = try PreparedPredicate(predicate, for: entity).dependencies
    #expect(Set(dependencies.relationships.map(\.name)) == ["artist", "tracks", "album", "producer"])
    #expect(Set(dependencies.entities.map(\.name)) == ["Artist", "Track"])
    let simple = try PreparedPredicate(try FetchPredicate(format: "year > 1"), for: entity).dependencies
    #expect(simple.relationships.isEmpty && simple.entities.isEmpty)
  }

  @Test func `a pattern on an unreadable property throws an error`() throws {
    let artist = try library.make("Artist", ["name": "(", "country": "("])
    #expect(try library.holds("name LIKE country", for: artist))
    let error = #expect(throws: CoherenceError.self) { try library.holds("name MATCHES country", for: artist) }
    #expect(error?.code == .invalidPredicate)
  }
}
