import Testing

@Suite("Length of functions")
struct FunctionLengthTests {
  @Test(arguments: ["Modules", "Backends", "Tools/Sources", "Tests", "Tools/Tests", "Tools/Mutation"])
  func `no function is longer than 60 lines`(folder: String) throws {
    let long = try Repository().sources(in: folder).flatMap { file in
      CodeFunction.functions(in: CodeToken.tokens(of: file.code)).filter { $0.length > 60 }
        .map { "\(file.path):\($0.line): \($0.name) has \($0.length) lines" }
    }
    #expect(long == [], "Divide these functions by their tasks.")
  }

  @Test(
    arguments: [
      ("let a = 1 // {", "let a = 1     "), ("/* { /* } */ { */ b", "                    b"),
      (#"f("{", g)"#, #"f("  , g)"#), (#"f("\(g { h })", i)"#, #"f(" (g { h }) , i)"#),
      (##"f(#"\("{"#)"##, ##"f("      )"##), ("f(\"\"\"\n  {\n  \"\"\")", "f(\"  \n   \n     )"),
      ("func `a { name`() {}", "func `        `() {}"), (#"f("\"{")"#, #"f("    )"#),
    ])
  func `comments and strings do not count as code`(source: String, code: String) {
    let lines = code.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    #expect(CodeScanner.lines(of: source).map(closed) == lines.map(closed))
  }

  @Test func `the length of a function counts from its name to its closing brace`() {
    let source = """
      protocol P {
        func required() -> Int
        init()
      }
      struct S: P {
        @discardableResult
        func first(
          body: () -> Void = {}
        ) -> Int {
          { 1 }()
        }
        var second: Int {
          2
        }
        var third = { 3 }()
        init() { self.init(3) }
        static var cases: [Case] {
          Case("a") { stack in
            stack
          }
        }
      }
      """
    let functions = CodeFunction.functions(in: CodeToken.tokens(of: CodeScanner.lines(of: source)))
    #expect(functions.map(\.name) == ["first", "second", "init", "Case"])
    #expect(functions.map(\.length) == [5, 3, 1, 3])
    #expect(functions.map(\.line) == [7, 12, 16, 18])
  }

  /// A line without the quotation marks, which mark only the place of a string.
  private func closed(_ line: String) -> String {
    String(line.filter { $0 != " " && $0 != "\"" })
  }
}
