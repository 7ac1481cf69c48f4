import CoherenceCore
import Foundation
import Testing

/// Filtered members, arithmetic and variables in conditions.
@Suite struct QueryExpressionTests {
  typealias Album = QueryLibrary.Album

  let library: QueryLibrary
  let album: QueryLibrary.Record

  init() throws {
    library = try QueryLibrary()
    album = try library.makeAlbum()
  }

  @Test func `typed expressions make the predicates of format text`() throws {
    let pairs: [(FetchPredicate, String)] = [
      (
        FetchPredicate(Album.self) { $0.tracks.filter { $0.length > 200 }.count > 2 },
        "SUBQUERY(tracks, $t, $t.length > 200).@count > 2"
      ),
      (
        FetchPredicate(Album.self) { $0.price * $0.tracks.count > 100 },
        "price * tracks.@count > CAST('100', 'Decimal')"
      ),
      (FetchPredicate(Album.self) { -$0.rating + 2 < 1 }, "-rating + 2.0 < 1.0"),
      (FetchPredicate(Album.self) { $0.year % 2 == 0 }, "modulus:by:(year, 2) == 0"),
      (FetchPredicate(Album.self) { 10 / ($0.rating - 3) >= $0.rating }, "10.0 / (rating - 3.0) >= rating"),
      (FetchPredicate(Album.self) { $0.year >= .variable("since") }, "year >= $since"),
      (
        FetchPredicate(Album.self) { album in album.tracks.any { $0.title == album.title } },
        "ANY tracks.title == title"
      ),
      (
        FetchPredicate(Album.self) { album in album.tracks.filter { $0.title < album.title }.count > 2 },
        "SUBQUERY(tracks, $t, $t.title < title).@count > 2"
      ),
    ]
    for (typed, format) in pairs {
      #expect(try substituted(typed) == substituted(FetchPredicate(format: format)))
    }
  }

  @Test func `a condition on members uses the records of all closures around it`() {
    let predicate = FetchPredicate(Album.self) { album in
      let title = album.title
      return album.tracks.any { track in
        track.title != title && album.tracks.all { $0.length <= track.length && $0.title >= album.title }
      }
    }
    #expect(
      predicate.description == "SUBQUERY(tracks, $x, $x.title != title AND "
        + "SUBQUERY(tracks, $x2, NOT ($x2.length <= $x.length AND $x2.title >= title)).@count == 0).@count > 0")
  }

  @Test func `a property of the record of another expression is refused`() throws {
    var escaped: QueryScope<Album>?
    _ = FetchPredicate(Album.self) { album in
      escaped = album
      return album.title > "A"
    }
    let other = try #require(escaped)
    let error = #expect(throws: CoherenceError.self) {
      try FetchPredicate(Album.self) { $0.tracks.any { $0.title > other.title } }.checked(for: library.entity("Album"))
    }
    #expect(error?.code == .invalidPredicate && error?.message.contains("another expression") == true)
    let missing = #expect(throws: CoherenceError.self) {
      try FetchPredicate.comparison(.path(PropertyPath(names: ["year"], outerLevel: 1)), .equal, .value(.int(1)))
        .checked(for: library.entity("Album"))
    }
    #expect(missing?.code == .invalidPredicate && missing?.message.contains("outwards") == true)
  }

  /// The resolved form for an album, in which constants have the type of the attribute.
  private func substituted(_ predicate: FetchPredicate) throws -> FetchPredicate {
    try predicate.substituting(["since": 1990]).checked(for: library.entity("Album"))
  }

  @Test func `calculations with constants alone are done once`() throws {
    let entity = try library.entity("Album")
    func checked(_ format: String) throws -> String {
      try FetchPredicate(format: format).checked(for: entity).description
    }
    #expect(try checked("year > 60 * 60 - 1") == "year > 3599")
    #expect(try checked("year > 1 / 0") == "year > NULL")
    #expect(try checked("year + 2 * 3 > 1") == "year + 6 > 1")
    #expect(try checked("price * 1.5 > 1") == "price * CAST(\"1.5\", \"Decimal\") > CAST(\"1\", \"Decimal\")")
    #expect(try checked("rating * 2 > 1") == "rating * 2.0 > 1.0")
    #expect(try checked("year / 2.0 > 1") == "year / 2.0 > 1.0")
  }

  @Test(arguments: [
    ("SUBQUERY(tracks, $t, $t.length > 1).@count > 0", "ANY tracks (length > 1)"),
    ("0 != SUBQUERY(tracks, $t, $t.length > 1).@count", "ANY tracks (length > 1)"),
    ("SUBQUERY(tracks, $t, $t.length > 1).@count >= 1", "ANY tracks (length > 1)"),
    ("SUBQUERY(tracks, $t, $t.length > 1).@count == 0", "NONE tracks (length > 1)"),
    ("1 > SUBQUERY(tracks, $t, $t.length > 1).@count", "NONE tracks (length > 1)"),
    ("SUBQUERY(tracks, $t, $t.length > 1).@count == 1", "SUBQUERY(tracks, $x, $x.length > 1).@count == 1"),
  ])
  func `a test whether a filtered count is zero becomes a quantifier`(format: String, checked: String)
    throws
  {
    let predicate = try FetchPredicate(format: format).checked(for: library.entity("Album"))
    #expect(predicate.description == checked)
    #expect(try predicate.checked(for: library.entity("Album")) == predicate)
  }

  @Test func `results out of range, and results without a value, are missing`() throws {
    let track = try library.make("Track", ["length": Int64.max])
    for format in [
      "length + 1 == NULL", "-length - 2 == NULL", "length * 2 == NULL", "(-length - 1) / -1 == NULL",
      "modulus:by:(-length - 1, -1) == 0", "length / 0 == NULL", "modulus:by:(length, 0) == NULL",
      "length - length == 0",
      "(length + 1) - 1 == NULL", "length + NULL == NULL", "length * 1.0 > 9000000000000000000",
      "(length + 0.5) * (length + 0.5) > 1", "NOT (length + 1 > 0)", "album.rating * 2 == NULL",
    ] {
      #expect(try library.holds(format, for: track), "\(format)")
    }
  }

  @Test func `variables are listed, and substituted as far as they have values`() throws {
    let template = try FetchPredicate(
      format: "a == $x AND b IN $y AND SUBQUERY(c, $t, $t.d + $z > 1).@count > 2 AND ANY e (f BETWEEN $w)")
    #expect(template.variableNames == ["x", "y", "z", "w"])
    let part = try template.substituting(["x": "text", "z": 3, "unknown": 1])
    #expect(part.variableNames == ["y", "w"])
    let whole = try part.substituting(["y": [1, 2], "w": [3, 4]])
    #expect(
      whole.description
        == "a == \"text\" AND b IN {1, 2} AND SUBQUERY(c, $x, $x.d + 3 > 1).@count > 2 AND ANY e (f BETWEEN {3, 4})")
    #expect(try FetchPredicate(format: "a == $x").substituting(["x": nil]).description == "a == NULL")
  }

  @Test func `values that do not fit a variable are refused with its name`() throws {
    struct Thing: Sendable {}
    let template = try FetchPredicate(format: "a == $x AND b IN $y AND c BETWEEN $z")
    let values: [(String, any Sendable)] = [("x", [1]), ("x", Thing()), ("y", 1), ("y", [Thing()]), ("z", [1])]
    for (name, value) in values {
      let error = #expect(throws: CoherenceError.self) { try template.substituting([name: value]) }
      #expect(error?.code == .invalidPredicate)
      #expect(error?.message.contains("'$\(name)'") == true)
    }
  }

  @Test func `calculations nested too deep are refused`() throws {
    let year = FetchExpression.path(PropertyPath("year"))
    let deep = (0..<5_000).reduce(year) { left, _ in .arithmetic(.add, left, .value(.int(1))) }
    let error = #expect(throws: CoherenceError.self) {
      try library.holds(.comparison(deep, .greater, .value(.int(1))), for: album)
    }
    #expect(error?.code == .invalidPredicate)
    let chain = "year" + String(repeating: " + 1", count: 50_000) + " > 1"
    let minus = String(repeating: "- ", count: 50_000) + "year > 1"
    let parentheses = String(repeating: "(", count: 5_000) + "year" + String(repeating: ")", count: 5_000) + " > 1"
    let subqueries =
      String(repeating: "SUBQUERY(a, $a, 1 < ", count: 5_000) + "1" + String(repeating: ").@count", count: 5_000)
    for text in [chain, minus, parentheses, subqueries] {
      let error = #expect(throws: CoherenceError.self) { try FetchPredicate(format: text) }
      #expect(error?.code == .invalidPredicate)
      #expect(error?.message.contains("character") == true)
    }
  }
}
