import Testing

@Suite("Timed waits of tests")
struct TimedWaitTests {
  private let tests: [SourceFile]

  init() throws { tests = try Repository().sources(in: "Tests", "Tools/Tests", "Tools/Mutation/Tests") }

  @Test func `no test sleeps`() {
    let places = tests.filter { $0.mentions(Self.sleeps) }.flatMap { file in
      let tokens = CodeToken.tokens(of: file.code)
      return tokens.indices.dropLast().filter { index in
        // The declaration of a clock's function is no call.
        let isDeclared = index > 0 && tokens[index - 1].text == "func"
        return Self.sleeps.contains(String(tokens[index].text)) && tokens[index + 1].text == "(" && !isDeclared
      }
      .map { "\(file.path):\(tokens[$0].line)" }
    }
    #expect(places == [], "Wait for the event that the test is about.")
  }

  @Test func `every wait that ends with a time has its reason in the table`() {
    for file in tests {
      let code = file.mentions(Self.timedWaits) ? file.code : []
      let count = code.count { line in Self.timedWaits.contains { line.contains($0) } }
      let allowed = TimedWaitTable.entries.first { $0.path == file.path }?.count ?? 0
      #expect(count == allowed, "Wait without a time in \(file.path), or change its entry in the table.")
    }
    let paths = Set(tests.map(\.path))
    #expect(TimedWaitTable.entries.allSatisfy { paths.contains($0.path) && !$0.reason.isEmpty })
  }

  private static let sleeps: Set = ["sleep", "usleep", "nanosleep", "asyncAfter", "sleepForTimeInterval"]
  private static let timedWaits = ["wait(timeout:", "wait(wallTimeout:", "scheduledTimer(", "makeTimerSource("]
}
