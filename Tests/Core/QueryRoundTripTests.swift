import CoherenceCore
import Foundation
import TestRandom
import Testing

/// Predicates are printed and read back.
@Suite struct QueryRoundTripTests {
  @Test(arguments: 0..<20)
  func `a random predicate is read back from its description`(round: Int) throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var generator = RandomPredicates(seed: seed)
    for _ in 0..<200 {
      let predicate = generator.predicate(depth: 4)
      let text = predicate.description
      let back = try? FetchPredicate(format: text)
      guard back == predicate else {
        Issue.record("Seed \(seed): '\(text)' was read as '\(back?.description ?? "nothing")'.")
        return
      }
    }
  }

  @Test(arguments: [
    "title IN tracks.title", "title IN[c] artist.albums.title", "ANY tracks.album.year == year",
    "ANY artist.albums.tracks.title == title", "NONE artist.albums.tracks.length > year",
    "ANY tracks.album.artist.name IN artist.albums.title", "SELF IN artist.albums",
    "ALL artist.albums.tracks.title != title", "ALL tracks.album.year BETWEEN {year, 2000}",
  ])
  func `the description of a condition on members with values of the record means the same condition`(
    format: String
  ) throws {
    let library = try QueryLibrary()
    let album = try library.makeAlbum()
    let predicate = try FetchPredicate(format: format)
    let described = try FetchPredicate(format: predicate.description)
    #expect(try library.holds(described, for: album) == library.holds(predicate, for: album), "\(predicate)")
    // The text of `ALL` is about the members that violate the condition.
    if !format.hasPrefix("ALL") {
      let entity = try library.entity("Album")
      #expect(try described.checked(for: entity) == predicate.checked(for: entity), "\(predicate)")
    }
  }
}

/// Random predicates that the format text can express. The same seed makes the same predicates.
private struct RandomPredicates: RandomNumberGenerator {
  private var random: SeededRandom

  init(seed: UInt64) { random = SeededRandom(seed: seed) }

  mutating func next() -> UInt64 { random.next() }

  private mutating func number(below bound: Int) -> Int { random.next(below: bound) }

  private mutating func choice<T>(_ items: [T]) -> T { items[number(below: items.count)] }

  mutating func predicate(depth: Int) -> FetchPredicate {
    switch number(below: depth == 0 ? 5 : 9) {
    case 0: .constant(number(below: 2) == 0)
    case 1: .membership(expression(), in: (0..<number(below: 4)).map { _ in value() }, options())
    case 2: .between(expression(), expression(), expression())
    case 3: .comparison(expression(), choice(ComparisonOperator.allCases), expression(), options())
    case 4: list()
    case 5: .and(predicates(depth: depth - 1))
    case 6: .or(predicates(depth: depth - 1))
    case 7: .not(predicate(depth: depth - 1))
    default: .quantified(choice([.any, .all, .none]), path(), predicate(depth: depth - 1))
    }
  }

  private mutating func list() -> FetchPredicate {
    number(below: 2) == 0
      ? .list(expression(), .membership, variable: name(), options())
      : .list(expression(), .between, variable: name())
  }

  private mutating func predicates(depth: Int) -> [FetchPredicate] {
    (0..<2 + number(below: 3)).map { _ in predicate(depth: depth) }
  }

  private mutating func options() -> StringOptions { StringOptions(rawValue: number(below: 4)) }

  private mutating func expression() -> FetchExpression {
    switch number(below: 9) {
    case 0..<3: .value(value())
    case 3..<5: .path(path())
    case 5: .count(path())
    case 6: .variable(choice(["x", "x2", "IN", "x y", "@sum", ""]))
    case 7: .arithmetic(choice(ArithmeticOperator.allCases), expression(), expression())
    default: .subquery(path(), predicate(depth: 1))
    }
  }

  private mutating func path() -> PropertyPath {
    PropertyPath(names: (0..<number(below: 4)).map { _ in name() })
  }

  private mutating func name() -> String {
    choice([
      "a", "title", "any", "IN", "self", "Null", "größe", "x y", "a.b", "`", "\\", "", "1st", "_1", "e\u{301}",
      "\u{301}",
    ])
  }

  private mutating func text() -> String {
    let pieces = ["a", "\"", "'", "\\", "\n", "\r\n", "\t", "\u{301}", "é", "😀", "%@", "`", " ", "{", "\u{200D}", "0"]
    return (0..<number(below: 6)).map { _ in choice(pieces) }.joined()
  }

  private mutating func value() -> AttributeValue {
    switch number(below: 9) {
    case 0: .null
    case 1: .bool(number(below: 2) == 0)
    case 2: .int(choice([.min, .max, 0, -1, Int64(bitPattern: next())]))
    case 3: .double(double())
    case 4: .string(text())
    case 5: .data(Data((0..<number(below: 9)).map { _ in UInt8(truncatingIfNeeded: next()) }))
    case 6: .date(Timestamp(microseconds: Int64(bitPattern: next())))
    // Every pattern of 16 bytes is a `uuid_t`.
    case 7: .uuid(UUID(uuid: unsafeBitCast((next(), next()), to: uuid_t.self)))
    default:
      .decimal(Decimal(sign: choice([.plus, .minus]), exponent: number(below: 40) - 20, significand: Decimal(next())))
    }
  }

  private mutating func double() -> Double {
    let value = Double(bitPattern: next())
    return value.isNaN ? .infinity : choice([value, 0, -0.0, 1, .infinity, -.infinity, .leastNonzeroMagnitude, 1e22])
  }
}
