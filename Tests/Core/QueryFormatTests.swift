import CoherenceCore
import Foundation
import Testing

@Suite struct QueryFormatTests {
  private func path(_ text: String) -> FetchExpression { .path(PropertyPath(text)) }

  private func parse(_ format: String, _ arguments: (any Sendable)?...) throws -> FetchPredicate {
    try FetchPredicate(format: format, arguments: arguments)
  }

  @Test func `the documented example parses as documented`() throws {
    let predicate = try FetchPredicate(
      format: "year >= %ld AND artist.name BEGINSWITH[cd] %@ AND ANY tracks.length > 300", 1990, "A")
    #expect(
      predicate
        == .and([
          .comparison(path("year"), .greaterOrEqual, .value(.int(1990))),
          .comparison(
            path("artist.name"), .beginsWith, .value(.string("A")), [.caseInsensitive, .diacriticInsensitive]),
          .quantified(
            .any, PropertyPath("tracks"), .comparison(path("length"), .greater, .value(.int(300)))),
        ]))
  }

  @Test(arguments: [
    ("a = 1", "a == 1"), ("a <> 1", "a != 1"), ("a =< 1", "a <= 1"), ("a => 1", "a >= 1"),
    ("a==1&&b==2||!c==3", "(a == 1 AND b == 2) OR NOT (c == 3)"), ("a beginswith 'x'", "a BEGINSWITH \"x\""),
    ("a == 1 or b == 2 and c == 3", "a == 1 OR (b == 2 AND c == 3)"), ("not a == 1", "NOT (a == 1)"),
    ("a in (1, 2)", "a IN {1, 2}"), ("a NOT IN {1}", "NOT (a IN {1})"), ("a IN {}", "a IN {}"),
    ("a between {1, b}", "a BETWEEN {1, b}"), ("a == yes AND b == no", "a == TRUE AND b == FALSE"),
    ("a == nil", "a == NULL"), ("((a == -1))", "a == -1"), ("a == 1.5e3", "a == 1500.0"),
    ("a == 'it\\'s'", "a == \"it's\""),
    ("#any == 1", "`any` == 1"), ("artist.in == 1", "artist.`in` == 1"), ("SELF.a == 1", "a == 1"),
    ("SOME a.b.c == 1", "ANY a.b (c == 1)"), ("ALL a == 1", "ALL a (SELF == 1)"),
    ("NONE a (b == 1)", "NONE a (b == 1)"),
    ("a.@sum.b > 1", "a.@sum.b > 1"), ("a.b.@min.c.d == NULL", "a.b.@min.c.d == NULL"), ("@count > 1", "@count > 1"),
    ("ANY a.b.@sum.c > 1", "ANY a (b.@sum.c > 1)"), ("@sum.a == @max.b", "@sum.a == @max.b"),
    ("ANY a.b.@count > 1", "ANY a (b.@count > 1)"), ("1 IN a.b", "ANY a.b (SELF == 1)"), ("größe == 1", "größe == 1"),
    ("a ==[dc] 'x'", "a ==[cd] \"x\""), ("NOT NOT a == 1", "NOT (NOT (a == 1))"), ("3 < a", "3 < a"),
    ("a + b * -c > 1", "a + (b * (0 - c)) > 1"),
    ("(a + b) * 2 > 3 AND (c == 1)", "(a + b) * 2 > 3 AND c == 1"), ("a -1 == b-2", "a - 1 == b - 2"),
    ("((a)) == 1", "a == 1"), ("a - -1 < 2", "a - -1 < 2"),
    ("modulus:by:(a + 1, 2) == 0", "modulus:by:(a + 1, 2) == 0"),
    ("modulus == 1", "modulus == 1"), ("(a / b) BETWEEN {1, 2 * 3}", "a / b BETWEEN {1, 2 * 3}"),
    ("SUBQUERY(a.b, $t, $t.c > 1 AND $t == NULL).@count > 2", "SUBQUERY(a.b, $x, $x.c > 1 AND $x == NULL).@count > 2"),
    ("SUBQUERY(a, $t, ANY $t.b.c > 1).@count == 1", "SUBQUERY(a, $x, ANY $x.b (c > 1)).@count == 1"),
    ("SUBQUERY(a, $t, $t.b == c AND SELF != $t).@count > 1", "SUBQUERY(a, $x, $x.b == c AND SELF != $x).@count > 1"),
    (
      "SUBQUERY(a, $t, SUBQUERY($t.b, $u, $u.c == $t.d + e).@count > 1).@count > 2",
      "SUBQUERY(a, $x, SUBQUERY($x.b, $x2, $x2.c == $x.d + e).@count > 1).@count > 2"
    ),
    ("ANY a (SUBQUERY(b, $t, $t.c == d).@count > 1)", "ANY a (SUBQUERY(b, $x, $x.c == d).@count > 1)"),
    (
      "SUBQUERY(a, $t, SUBQUERY($t.b, $u, $u.c == $x).@count > 1).@count > 2",
      "SUBQUERY(a, $x2, SUBQUERY($x2.b, $x3, $x3.c == $x).@count > 1).@count > 2"
    ),
    ("a == $b AND c IN $d AND e BETWEEN $f", "a == $b AND c IN $d AND e BETWEEN $f"),
    ("a IN {1, $b}", "a == 1 OR a == $b"),
    ("$x IN a", "ANY a (SELF == $x)"),
    ("a == 'caf\\u00E9\\n'", "a == \"café\\n\""), ("true == a", "TRUE == a"),
  ])
  func `format text is read as its canonical form`(format: String, canonical: String) throws {
    let predicate = try FetchPredicate(format: format)
    #expect(predicate.description == canonical)
    #expect(try FetchPredicate(format: canonical) == predicate)
  }

  @Test(arguments: [
    ("ANY a.b == c", "SUBQUERY(a, $x, $x.b == c).@count > 0"),
    ("ALL a.b BETWEEN {c, 3}", "SUBQUERY(a, $x, NOT ($x.b BETWEEN {c, 3})).@count == 0"),
    ("NONE a.b > c + 1", "SUBQUERY(a, $x, $x.b > c + 1).@count == 0"),
    ("c IN a.b", "SUBQUERY(a.b, $x, $x == c).@count > 0"),
    ("ANY a.b IN c.d", "SUBQUERY(a, $x, SUBQUERY(c.d, $x2, $x2 == $x.b).@count > 0).@count > 0"),
  ])
  func `a condition on members with values of the record is described by the number of members`(
    format: String, description: String
  ) throws {
    #expect(try FetchPredicate(format: format).description == description)
  }

  @Test func `arguments are values, lists, identifiers and paths`() throws {
    let uuid = UUID()
    let date = Date(timeIntervalSince1970: 1.5)
    #expect(try parse("%K == %@", "artist.name", "x") == .comparison(path("artist.name"), .equal, .value(.string("x"))))
    #expect(try parse("a == %@", uuid) == .comparison(path("a"), .equal, .value(.uuid(uuid))))
    #expect(
      try parse("a == %@", date) == .comparison(path("a"), .equal, .value(.date(Timestamp(microseconds: 1_500_000)))))
    #expect(try parse("a == %@", nil) == .comparison(path("a"), .equal, .value(.null)))
    #expect(try parse("a == %@", Int?.none) == .comparison(path("a"), .equal, .value(.null)))
    #expect(try parse("a == %lf", 2.5) == .comparison(path("a"), .equal, .value(.double(2.5))))
    #expect(try parse("a IN %@", [1, 2]) == .membership(path("a"), in: [.int(1), .int(2)]))
    #expect(try parse("a IN %@", Set(["x"])) == .membership(path("a"), in: [.string("x")]))
    let mixed: [any AttributeConvertible] = [1, 2.5]
    #expect(try parse("a IN %@", mixed) == .membership(path("a"), in: [.int(1), .double(2.5)]))
    #expect(try parse("a IN {%@, 3}", 2) == .membership(path("a"), in: [.int(2), .int(3)]))
    #expect(try parse("a BETWEEN %@", [1, 2]) == .between(path("a"), .value(.int(1)), .value(.int(2))))
    #expect(try parse("ANY %K.b == 1", "a") == parse("ANY a.b == 1"))
    #expect(
      try parse("mood == %@", QueryLibrary.Mood.wild) == .comparison(path("mood"), .equal, .value(.string("wild"))))
  }

  @Test(arguments: [
    ("", "character 1"), ("a ==", "character 5"), ("a == 1 b", "character 8"), ("(a == 1", "character 8"),
    ("a ? 1", "character 3"), ("a == 'x", "character 6"), ("a == \"\\d\"", "write \\\\ for itself"),
    ("a ==[x] 1", "character 5"), ("a == $", "the name of a variable"),
    ("SUBQUERY(a, $b, $b.c == 1)", "'.@count' is expected"),
    ("SUBQUERY(a, b, c == 1).@count > 0", "'$' is expected"),
    ("SUBQUERY(a, $b, $b.c == 1).@sum.d > 0", "'.@count' is expected"), ("a + == 1", "'=='"), ("(a + 1 == 2", "')'"),
    ("modulus:by:(a) == 1", "',' is expected"), ("CAST(a, 'Double') == 1", "CAST makes a value of a constant"),
    ("a % 2 == 0", "character 3"),
    ("a.@stddev.b > 1", "@stddev"), ("a IN {b}", "constants only"), ("a BETWEEN {1}", "two bounds"),
    ("a == 99999999999999999999", "out of range"), ("a == {1}", "'{'"),
    ("ANY SELF == 1", "to-many relationship"), ("a == CAST('x', 'UUID')", "cannot be read as 'UUID'"),
    ("a == CAST('1,50', 'Decimal')", "cannot be read as 'Decimal'"),
    ("a == CAST('1.5 EUR', 'Decimal')", "cannot be read as 'Decimal'"),
    ("a == OBJECT('x')", "identifier as an argument"), ("a IN 3", "after IN"), ("AND", "'AND'"), ("a NOT == 1", "IN"),
    ("%z == 1", "specifier"), ("a == %@", "no argument"), ("a. == 1", "after '.'"),
  ])
  func `unreadable text is refused with the position and the reason`(format: String, reason: String) {
    let error = #expect(throws: CoherenceError.self) { try FetchPredicate(format: format) }
    #expect(error?.code == .invalidPredicate)
    #expect(error?.message.contains(reason) == true, "\(error?.message ?? "")")
    #expect(error?.message.contains("character") == true)
  }

  @Test func `arguments that do not fit are refused`() {
    struct Thing: Sendable {}
    for (format, argument) in [("a == %@", Thing() as any Sendable), ("a IN %@", 3), ("a == %@", [1]), ("%K == 1", 3)] {
      let error = #expect(throws: CoherenceError.self) { try FetchPredicate(format: format, argument) }
      #expect(error?.code == .invalidPredicate)
    }
    let error = #expect(throws: CoherenceError.self) { try FetchPredicate(format: "a == %@", 1, 2) }
    #expect(error?.message.contains("2 were given") == true)
  }

  @Test func `text nested without end is refused`() {
    for text in [String(repeating: "(", count: 100_000), String(repeating: "NOT ", count: 100_000)] {
      let error = #expect(throws: CoherenceError.self) { try FetchPredicate(format: text + "a == 1") }
      #expect(error?.message.contains("nested") == true)
    }
  }

  @Test func `errors do not quote texts and numbers`() {
    let error = #expect(throws: CoherenceError.self) { try FetchPredicate(format: "a 'secret' == 1234567") }
    #expect(error?.message.contains("secret") == false)
    #expect(error?.message.contains("1234567") == false)
  }
}
