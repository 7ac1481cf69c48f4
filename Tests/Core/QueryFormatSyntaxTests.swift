import CoherenceCore
import Foundation
import Testing

/// The forms of format text that the examples of `QueryFormatTests` leave out: the limits of numbers, lists, operands
/// and names.
@Suite struct QueryFormatSyntaxTests {
  private static func path(_ text: String) -> FetchExpression { .path(PropertyPath(text)) }

  @Test(arguments: [
    ("a == 1e3", "a == 1000.0"), ("a == 1E+2", "a == 100.0"), ("a == 25e-2", "a == 0.25"), ("a == 1.5E2", "a == 150.0"),
    ("a == -0.5", "a == -0.5"), ("a == - 1", "a == 0 - 1"), ("a == -b", "a == 0 - b"),
    ("a == - -b", "a == 0 - (0 - b)"), ("a1 == 1", "a1 == 1"), ("_a_1 == 1", "_a_1 == 1"),
  ])
  func `numbers, signs and names end where the next token begins`(format: String, canonical: String) throws {
    let predicate = try FetchPredicate(format: format)
    #expect(predicate.description == canonical)
    #expect(try FetchPredicate(format: canonical) == predicate)
  }

  @Test(arguments: [
    ("a - b - c > 1", "(a - b) - c > 1"), ("a - (b - c) > 1", "a - (b - c) > 1"), ("a / b * c > 1", "(a / b) * c > 1"),
    ("a + b * c - d > 1", "(a + (b * c)) - d > 1"), ("(a + b) / 2 > 3", "(a + b) / 2 > 3"), ("(a) <= 1", "a <= 1"),
    ("(a) BEGINSWITH 'x'", "a BEGINSWITH \"x\""), ("(a) IN {1}", "a IN {1}"), ("(a) NOT IN {1}", "NOT (a IN {1})"),
    ("(a) == 1 OR (b == 2)", "a == 1 OR b == 2"), ("NOT (a) == 1", "NOT (a == 1)"), ("!!a == 1", "NOT (NOT (a == 1))"),
    ("(a == 1) AND (b == 2 OR c == 3)", "a == 1 AND (b == 2 OR c == 3)"),
    ("((a + 1) * 2 > 3) OR FALSEPREDICATE", "(a + 1) * 2 > 3 OR FALSEPREDICATE"),
  ])
  func `parentheses enclose an operand or a condition, and operations group from the left`(
    format: String, canonical: String
  ) throws {
    let predicate = try FetchPredicate(format: format)
    #expect(predicate.description == canonical)
    #expect(try FetchPredicate(format: canonical) == predicate)
  }

  @Test(arguments: [
    ("a ==[CD] 'x'", "a ==[cd] \"x\""), ("a IN[c] $x", "a IN[c] $x"), ("1 IN[c] a.b", "ANY a.b (SELF ==[c] 1)"),
    ("a IN[d] {'x', $b}", "a ==[d] \"x\" OR a ==[d] $b"), ("a == $in", "a == $`in`"), ("a NOT IN $x", "NOT (a IN $x)"),
    ("ALL a IN {1}", "ALL a (SELF IN {1})"), ("ANY a.b NOT IN {1}", "ANY a (NOT (b IN {1}))"),
    ("ANY a.b BETWEEN $x", "ANY a (b BETWEEN $x)"), ("a BETWEEN (1, 2)", "a BETWEEN {1, 2}"),
    ("no BETWEEN {1, a}", "FALSE BETWEEN {1, a}"), ("NO == 1", "FALSE == 1"),
  ])
  func `lists, variables and options are read after each operator that takes them`(
    format: String, canonical: String
  ) throws {
    let predicate = try FetchPredicate(format: format)
    #expect(predicate.description == canonical)
    #expect(try FetchPredicate(format: canonical) == predicate)
  }

  @Test func `a backslash stands before each of its letters`() throws {
    let text = "a == '\\t\\r\\n\\\\\\'\\\"\\`\\u0041'"
    #expect(
      try FetchPredicate(format: text)
        == .comparison(Self.path("a"), .equal, .value(.string("\t\r\n\\'\"`A"))))
  }

  @Test(arguments: [
    ("a == 'x\\d'", "character 8"), ("a == '\\u00g1'", "uXXXX"), ("a == '\\uD800'", "uXXXX"), ("a == '\\u12'", "uXXXX"),
    ("a == '\\u+123'", "uXXXX"),
    ("a ==[c 1", "[c], [d] and [cd]"), ("# == 1", "a name is expected after '#'"),
    ("a.@ > 1", "a name is expected after '@'"), ("a ~ 1", "'~' is not expected here"),
    ("CAST('x') == 1", "',' is expected"), ("CAST 'x' == 1", "'(' is expected"),
    ("CAST('x', b) == 1", "the name of a type"), ("CAST('x', 'UUID' == 1", "')' is expected"),
    ("CAST('x', 'Nothing') == 1", "cannot be read as 'Nothing'"),
    ("a == CAST('*', 'Data')", "cannot be read as 'Data'"),
    ("FUNCTION == 1", "FUNCTION is not supported"), ("a IN {1", "the end of the list"),
    ("a IN {1, }", "a name or a value is expected"), ("a IN {1, b}", "character 6"),
    ("a BETWEEN {1, 2, 3}", "not 3"), ("a BETWEEN 1", "a list in braces is expected"),
    ("ANY a.@count > 1", "after ANY, ALL or NONE"), ("ANY 1 == 2", "after ANY, ALL or NONE"),
    ("SUBQUERY(1, $t, $t.b == 1).@count > 0", "the path of a to-many relationship"),
    ("modulus:x:(a, b) == 1", "'by' is expected"), ("modulus:by(a, b) == 1", "':' is expected"),
    ("no NOT IN {1}", "write #no"), ("no IN {1, $b}", "write #no"), ("a == 1 AND", "the end"),
  ])
  func `text without one of its parts is refused with the missing part`(format: String, reason: String) {
    let error = #expect(throws: CoherenceError.self) { try FetchPredicate(format: format) }
    #expect(error?.code == .invalidPredicate)
    #expect(error?.message.contains(reason) == true, "\(error?.message ?? "")")
  }

  @Test func `values and paths of the framework are arguments`() throws {
    let one = FetchPredicate.comparison(Self.path("a.b"), .equal, .value(.int(1)))
    #expect(try FetchPredicate(format: "%K == %@", PropertyPath("a.b"), AttributeValue.int(1)) == one)
    #expect(try FetchPredicate(format: "a.%K == %@", "b", 1) == one)
    #expect(
      try FetchPredicate(format: "a IN %@", [AttributeValue.null, .int(1)])
        == .membership(Self.path("a"), in: [.null, .int(1)]))
  }

  @Test func `a list of other than two bounds, and an argument of another kind, are refused`() {
    for (format, argument) in [("a BETWEEN %@", [1, 2, 3] as any Sendable), ("a BETWEEN %@", [1]), ("%K == 1", 1)] {
      let error = #expect(throws: CoherenceError.self) { try FetchPredicate(format: format, argument) }
      #expect(error?.code == .invalidPredicate)
    }
    let error = #expect(throws: CoherenceError.self) { try FetchPredicate(format: "a == %@ AND b == %@", 1) }
    #expect(error?.message.contains("1 were given") == true)
  }

  @Test func `the text for logs has a question mark in place of each constant, and keeps names and variables`() throws {
    let predicate = try FetchPredicate(
      format: "title ==[c] 'secret' AND year IN {1990, NULL} AND price BETWEEN {1.5, $most} AND "
        + "NOT (isLive == TRUE) AND ANY tracks (length > 300) AND SUBQUERY(tracks, $t, $t.length * 2 > 5).@count > 3 "
        + "AND b IN $list")
    #expect(
      predicate.textWithoutValues
        == "title ==[c] ? AND year IN {?, ?} AND price BETWEEN {?, $most} AND NOT (isLive == ?) AND "
        + "ANY tracks (length > ?) AND SUBQUERY(tracks, $x, $x.length * ? > ?).@count > ? AND b IN $list")
  }

  @Test func `empty conditions, criteria of order and expressions have a text`() {
    #expect(FetchPredicate.and([]).description == "TRUEPREDICATE")
    #expect(FetchPredicate.or([]).description == "FALSEPREDICATE")
    #expect(FetchPredicate.constant(true).textWithoutValues == "TRUEPREDICATE")
    #expect(SortKey("artist.name", .reverse, options: .caseInsensitive).description == "artist.name[c] DESC")
    #expect(SortKey("in").description == "`in`")
    #expect(FetchExpression.arithmetic(.remainder, Self.path("a"), .value(.int(2))).description == "modulus:by:(a, 2)")
  }
}
