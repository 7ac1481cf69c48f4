import CoherenceCore
import Foundation
import Testing

@Suite struct QueryCheckingTests {
  let library: QueryLibrary

  init() throws { library = try QueryLibrary() }

  @Test(arguments: [
    ("title == 3", "'title' (text) cannot be compared with a constant (integer)"),
    ("year == 'x'", "'year' (integer) cannot be compared with a constant (text)"),
    ("year BEGINSWITH 'x'", "cannot be compared"), ("year BEGINSWITH 1", "BEGINSWITH compares texts; 'year' (integer)"),
    ("year ==[c] 3", "'year' (integer) is not text"), ("isLive == 2", "'isLive' (bool)"),
    ("title == year", "'title' (text) cannot be compared with 'year' (integer)"),
    ("artist > producer", "has no order"), ("tracks == NULL", "'tracks' has many members"),
    ("artist.@count > 1", "'artist' is not a to-many relationship"),
    ("ANY artist.name == 'x'", "leads to no to-many relationship"),
    ("title.length > 1", "continues after 'title'"), ("tracks.title == 'x'", "continues after 'tracks'"),
    ("title MATCHES '('", "regular expression"), ("title MATCHES 'a)(b'", "regular expression"),
    ("released > 12", "'released' (date)"), ("title IN {1}", "'title' (text)"),
    ("year BETWEEN {'a', 'b'}", "'year' (integer)"), ("released == 'x'", "'released' (date)"),
  ])
  func `a predicate that does not fit the entity is refused with a sentence that names both sides`(
    format: String, message: String
  ) throws {
    let error = try #require(try library.refusal(of: format))
    #expect(error.code == .invalidPredicate)
    #expect(error.message.contains(message), "\(error.message)")
  }

  @Test(arguments: [
    ("title + 1 == 2", "'+' calculates with numbers; 'title' (text) is not a number"),
    ("price + rating > 1", "a decimal and a floating-point number have no common type"),
    ("price / rating > 1", "'/' cannot be applied to 'price' (decimal) and 'rating' (floating-point number)"),
    ("modulus:by:(rating, 2) == 0", "the remainder is defined for integers only"),
    ("year + 1 == 'x'", "the result of '+' (integer) cannot be compared with a constant (text)"),
    ("SUBQUERY(artist, $a, $a.name == 'x').@count > 0", "'artist' is not a to-many relationship; SUBQUERY counts"),
    ("tracks.@count == 'x'", "the count of 'tracks' cannot be compared with a constant (text)"),
    ("SELF > SELF", "the object itself has no order"), ("artist BETWEEN {artist, artist}", "has no order"),
    ("price ==[c] 1", "An option for case or diacritics compares texts; 'price' (decimal) is not text"),
    ("year BETWEEN {title, 3}", "'year' (integer) cannot be compared with 'title' (text)"),
    ("year BETWEEN {3, title}", "'year' (integer) cannot be compared with 'title' (text)"),
    ("year IN {1, 'x'}", "'year' (integer) cannot be compared with a constant (text)"),
    ("3 == title", "a constant (integer) cannot be compared with 'title' (text)"),
    ("year == $x", "The variable '$x' has no value"), ("$x == year", "The variable '$x' has no value"),
    ("year + $x == 1", "The variable '$x' has no value"), ("year IN $x", "The variable '$x' has no value"),
    ("ANY tracks (length BETWEEN $x)", "The variable '$x' has no value"),
  ])
  func `a predicate whose operands have no common meaning is refused with their names`(
    format: String, message: String
  ) throws {
    let error = try #require(try library.refusal(of: format))
    #expect(error.code == .invalidPredicate)
    #expect(error.message.contains(message), "\(error.message)")
  }

  @Test func `constants of lists, of ranges and of the left side are converted like those of the right side`() throws {
    let album = try library.entity("Album")
    func checked(_ format: String) throws -> FetchPredicate { try FetchPredicate(format: format).checked(for: album) }
    let (year, rating) = (FetchExpression.path(PropertyPath("year")), FetchExpression.path(PropertyPath("rating")))
    #expect(try checked("1.0 <= year") == .comparison(.value(.int(1)), .lessOrEqual, year))
    #expect(try checked("year IN {1.0, 1.5, NULL}") == .membership(year, in: [.int(1), .double(1.5), .null]))
    #expect(try checked("year BETWEEN {1.0, 2.5}") == .between(year, .value(.int(1)), .value(.double(2.5))))
    #expect(try checked("year == 1e30") == .comparison(year, .equal, .value(.double(1e30))))
    #expect(
      try checked("rating == 9007199254740993") == .comparison(rating, .equal, .value(.int(9_007_199_254_740_993))))
    let flag = FetchExpression.path(PropertyPath("isLive"))
    #expect(try checked("isLive == 0") == .comparison(flag, .equal, .value(.bool(false))))
    let price = FetchExpression.path(PropertyPath("price"))
    let tenth = try #require(Decimal(string: "0.1"))
    #expect(try checked("price > 0.1") == .comparison(price, .greater, .value(.decimal(tenth))))
  }

  @Test func `an unknown name is refused and the error lists the known names`() throws {
    let error = try #require(try library.refusal(of: "artist.nme == 'x'"))
    #expect(error.code == .unknownProperty)
    #expect(error.message.contains("'nme'") && error.message.contains("country"))
    #expect(try library.refusal(of: "ANY trks.length > 1")?.code == .unknownProperty)
  }

  @Test func `an object of another hierarchy is refused`() throws {
    let track = try library.make("Track")
    #expect(try library.refusal(of: "artist == %@", track.id)?.code == .invalidPredicate)
    #expect(try library.refusal(of: "tracks CONTAINS %@", track.id) == nil)
  }

  @Test func `not-a-number is refused`() throws {
    #expect(try library.refusal(of: "rating == %@", Double.nan)?.code == .invalidPredicate)
    #expect(try library.refusal(of: "price IN %@", [Decimal.nan])?.code == .invalidPredicate)
  }

  @Test func `a constant becomes a value of the property's type if the conversion is exact`() throws {
    let album = try library.entity("Album")
    func checked(_ format: String) throws -> FetchPredicate { try FetchPredicate(format: format).checked(for: album) }
    func year(_ value: AttributeValue) -> FetchPredicate {
      .comparison(.path(PropertyPath("year")), .equal, .value(value))
    }
    #expect(try checked("year == 3.0") == year(.int(3)))
    #expect(try checked("year == 3.5") == year(.double(3.5)))
    #expect(try checked("rating == 3") == .comparison(.path(PropertyPath("rating")), .equal, .value(.double(3))))
    #expect(
      try checked("price IN {9.99, 1}")
        == .membership(
          .path(PropertyPath("price")), in: [.decimal(try #require(Decimal(string: "9.99"))), .decimal(1)]))
    #expect(try checked("1 == isLive") == .comparison(.value(.bool(true)), .equal, .path(PropertyPath("isLive"))))
  }

  @Test func `a decimal constant becomes a double only if it is the double's shortest decimal number`() throws {
    let album = try library.entity("Album")
    func rating(_ value: AttributeValue) -> FetchPredicate {
      .comparison(.path(PropertyPath("rating")), .equal, .value(value))
    }
    let exact = try #require(Decimal(string: "0.1"))
    #expect(try rating(.decimal(exact)).checked(for: album) == rating(.double(0.1)))
    // The closest double of this number is 0.1 too, which would compare as equal to the number.
    let finer = try #require(Decimal(string: "0.10000000000000000001"))
    #expect(try rating(.decimal(finer)).checked(for: album) == rating(.decimal(finer)))
    let integer = FetchPredicate.comparison(.path(PropertyPath("year")), .equal, .value(.decimal(1990)))
    #expect(
      try integer.checked(for: album) == .comparison(.path(PropertyPath("year")), .equal, .value(.int(1990))))
    let fraction = FetchPredicate.comparison(.path(PropertyPath("year")), .equal, .value(.decimal(exact)))
    #expect(try fraction.checked(for: album) == fraction)
  }

  @Test func `a great double constant becomes the decimal of its shortest digits`() throws {
    let album = try library.entity("Album")
    func price(_ value: AttributeValue) -> FetchPredicate {
      .comparison(.path(PropertyPath("price")), .less, .value(value))
    }
    let great = try #require(Decimal(string: "100e127"))
    #expect(try price(.double(1e129)).checked(for: album) == price(.decimal(great)))
    #expect(try price(.double(1e300)).checked(for: album) == price(.double(1e300)))
  }

  @Test(arguments: [
    "ANY artist.albums.tracks.album.size.width > 3", "NONE artist.albums.tracks.length > 3", "price BETWEEN {1, 2.5}",
    "ALL tracks.length == 3.0 OR tracks.@count > 1.0",
  ])
  func `checking again changes nothing`(format: String) throws {
    let album = try library.entity("Album")
    let once = try FetchPredicate(format: format).checked(for: album)
    #expect(try once.checked(for: album) == once)
    #expect(try PreparedPredicate(once, for: album).predicate == once)
  }
}
