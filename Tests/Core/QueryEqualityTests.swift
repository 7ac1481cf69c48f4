import CoherenceCore
import Testing

@Suite("Equality of predicates")
struct QueryEqualityTests {
  private static func path(_ name: String) -> FetchExpression { .path(PropertyPath(name)) }

  private static func number(_ value: Int64) -> FetchExpression { .value(.int(value)) }

  private static let one = FetchPredicate.comparison(path("a"), .equal, number(1))
  private static let two = FetchPredicate.comparison(path("a"), .equal, number(2))

  /// Predicates of which no two are equal; each differs from another in one part.
  private static let different: [FetchPredicate] = [
    .constant(true), .constant(false),
    one, two,
    .comparison(path("b"), .equal, number(1)), .comparison(path("a"), .less, number(1)),
    .comparison(path("a"), .equal, number(1), .caseInsensitive), .comparison(number(1), .equal, path("a")),
    .membership(path("a"), in: [.int(1)], []), .membership(path("b"), in: [.int(1)], []),
    .membership(path("a"), in: [.int(1), .int(2)], []), .membership(path("a"), in: [.int(2), .int(1)], []),
    .membership(path("a"), in: [.int(1)], .caseInsensitive),
    .between(path("a"), number(1), number(2)), .between(path("b"), number(1), number(2)),
    .between(path("a"), number(0), number(2)), .between(path("a"), number(1), number(3)),
    .list(path("a"), .membership, variable: "x"), .list(path("b"), .membership, variable: "x"),
    .list(path("a"), .between, variable: "x"), .list(path("a"), .membership, variable: "y"),
    .list(path("a"), .membership, variable: "x", .caseInsensitive),
    .and([]), .or([]), .and([one]), .or([one]), .and([one, two]), .and([two, one]), .or([one, two]),
    .and([one, two, one]), .not(one), .not(two), .not(.not(one)),
    .quantified(.any, PropertyPath("a"), one), .quantified(.all, PropertyPath("a"), one),
    .quantified(.any, PropertyPath("b"), one), .quantified(.any, PropertyPath("a"), two),
  ]

  @Test func `predicates are equal to themselves and to no predicate with another part`() {
    for (index, predicate) in Self.different.enumerated() {
      for (otherIndex, other) in Self.different.enumerated() {
        #expect((predicate == other) == (index == otherIndex), "\(predicate) and \(other)")
      }
    }
    #expect(Set(Self.different).count == Self.different.count)
    #expect(Set(Self.different + Self.different).count == Self.different.count)
  }
}
