import Testing

@testable import Mutants

@Suite("The places of mutants")
struct SiteFinderTests {
  /// The original text at each site of a source for one operator, and the text of the mutant.
  private func changes(_ mutationOperator: MutationOperator, _ source: String) -> [[String]] {
    SiteFinder.sites(in: source, path: "A.swift").filter { $0.mutationOperator == mutationOperator }
      .map { [$0.original, $0.mutated] }
  }

  /// The source with the switch of the first mutant of an operator in it.
  private func switched(_ mutationOperator: MutationOperator, _ source: String) throws -> String {
    let sites = SiteFinder.sites(in: source, path: "A.swift").filter { $0.mutationOperator == mutationOperator }
    return MutatedSource(source, mutants: [Mutant(number: 7, site: try #require(sites.first))]).text
  }

  @Test func `conditions of every kind of statement are negated`() {
    let source = """
      func f() {
        if a, let b = c, d { }
        while e { }
        repeat { } while g
        for x in y where h { }
        guard i else { return }
        let j = k ? 1 : 2
      }
      """
    #expect(
      changes(.negateCondition, source) == [
        ["a", "!(a)"], ["d", "!(d)"], ["e", "!(e)"], ["g", "!(g)"], ["h", "!(h)"], ["i", "!(i)"], ["k", "!(k)"],
      ])
    #expect(changes(.ignoreGuard, source) == [["i", "true"]])
  }

  @Test func `operators are replaced by their counterparts with their operands`() {
    #expect(changes(.swapLogic, "let a = b && c || d") == [["b && c || d", "b && c && d"], ["b && c", "b || c"]])
    #expect(changes(.moveBoundary, "let a = b < c + 1") == [["b < c + 1", "b <= c + 1"]])
    #expect(changes(.swapEquality, "let a = b == c, d = e !== f") == [["b == c", "b != c"], ["e !== f", "e === f"]])
    #expect(changes(.swapArithmetic, "let a = b + 2 - c") == [["b + 2 - c", "b + 2 + c"], ["b + 2", "b - 2"]])
    #expect(changes(.useDefault, "let a = b ?? c") == [["b ?? c", "c"]])
  }

  @Test func `texts are not subtracted`() {
    #expect(changes(.swapArithmetic, "let a = b + \"c\"") == [])
    #expect(changes(.swapArithmetic, "func f() { a += \"c\" }") == [])
  }

  @Test func `only 0 and 1 and truth values are replaced`() {
    #expect(
      changes(.replaceLiteral, "let a = 0, b = 1, c = 2, d = true, e = false")
        == [["0", "1"], ["1", "0"], ["true", "false"], ["false", "true"]])
  }

  @Test func `patterns and raw values and attributes and code of other platforms have no mutants`() {
    let source = """
      enum A: Int { case b = 0 }
      @available(b: 1) func f(c: Int) { switch c { case 0: g(); default: g() } }
      #if canImport(Combine)
        let h = 1
      #endif
      """
    #expect(changes(.replaceLiteral, source) == [])
  }

  @Test func `the other end is taken of properties and of calls`() {
    #expect(
      changes(.swapEnd, "let a = b.first, c = d?.last, e = f.max()")
        == [["b.first", "b.last"], ["d?.last", "d?.first"], ["f.max()", "f.min()"]])
    #expect(changes(.swapEnd, "let a = b.first { $0 < 3 }") == [["b.first { $0 < 3 }", "b.last { $0 < 3 }"]])
    #expect(changes(.swapEnd, "f(&a.first)") == [])
  }

  @Test func `literals lose their first or last element and sets of options their only one`() {
    #expect(changes(.dropElement, "let a = [b, c]") == [["[b, c]", "[c]"], ["[b, c]", "[b]"]])
    #expect(changes(.dropElement, "let a: B = [.c]") == [["[.c]", "[]"]])
    #expect(changes(.dropElement, "let a = [b], c = [D.e], f: [Int] = []") == [])
  }

  @Test func `passed-on arguments are dropped`() {
    #expect(changes(.dropArgument, "f(a, options: options)") == [["f(a, options: options)", "f(a)"]])
    #expect(changes(.dropArgument, "f(a, options: other)") == [])
    #expect(changes(.dropArgument, "f(options: options)") == [])
  }

  @Test func `calls and assignments are dropped but for those that a test cannot see`() {
    let source = """
      func f() throws {
        a()
        try b.c()
        d = e
        f += 1
        g
        assert(h)
        logger.debug("i")
        super.init()
      }
      """
    #expect(changes(.dropStatement, source) == [["a()", ""], ["try b.c()", ""], ["d = e", ""], ["f += 1", ""]])
  }

  @Test func `a single expression used as a value is not dropped`() {
    #expect(changes(.dropStatement, "func f() -> Int { g() }") == [])
    #expect(changes(.dropStatement, "let a = { g() }") == [])
    #expect(changes(.dropStatement, "var a: Int { g() }") == [])
    #expect(changes(.dropStatement, "var a: Int { get { g() } set { h() } }") == [["h()", ""]])
    #expect(changes(.dropStatement, "func f() { g() }") == [["g()", ""]])
  }

  @Test func `functions return early with a value of their type`() {
    let results: [(type: String, texts: [String])] = [
      ("", ["return"]), (" -> Int?", ["return nil"]), (" -> Bool", ["return true", "return false"]),
      (" -> [Int]", ["return []"]), (" -> [Int: Int]", ["return [:]"]), (" -> Int", ["return 0"]),
      (" -> Other", []),
    ]
    for (type, texts) in results {
      #expect(changes(.returnEarly, "func f()\(type) { g(); h() }").map { $0[1] } == texts, "func f()\(type)")
    }
    #expect(changes(.returnEarly, "var a: Int? { b }") == [["", "return nil"]])
  }

  @Test func `loops stop after their first round unless they do so anyway`() {
    #expect(changes(.stopAfterFirst, "for a in b { c(a) }") == [["", "break"]])
    #expect(changes(.stopAfterFirst, "for a in b { return a }") == [])
  }

  @Test func `an expression stands beside its change in a ternary`() throws {
    #expect(
      try switched(.moveBoundary, "let a = b < c  // d")
        == "let a = (coherenceMutantIsActive(7) ? (b <= c) : (b < c))  // d")
  }

  @Test func `a dropped statement stands in a condition`() throws {
    #expect(
      try switched(.dropStatement, "func f() {\n  a()  // b\n}")
        == "func f() {\n  if !coherenceMutantIsActive(7) { a() }  // b\n}")
  }

  @Test func `a compound assignment stands beside its change in branches`() throws {
    #expect(
      try switched(.swapArithmetic, "func f() { a += b }")
        == "func f() { if coherenceMutantIsActive(7) { a -= b } else { a += b } }")
  }

  @Test func `an early return precedes the body and a single expression gets its return`() throws {
    #expect(
      try switched(.returnEarly, "func f() -> Int? { g() }")
        == "func f() -> Int? { if coherenceMutantIsActive(7) { return nil }; return g() }")
    #expect(
      try switched(.returnEarly, "func f() -> Int? { a(); return g() }")
        == "func f() -> Int? { if coherenceMutantIsActive(7) { return nil }; a(); return g() }")
  }

  @Test func `a loop is left behind its last statement`() throws {
    #expect(
      try switched(.stopAfterFirst, "for a in b {\n  c(a)  // d\n}")
        == "for a in b {\n  c(a); if coherenceMutantIsActive(7) { break }  // d\n}")
  }
}
