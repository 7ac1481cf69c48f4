/// Tests of one process.
struct TestSelection: Equatable {
  /// The regular expression of the test program's filter.
  let filter: String
  /// Names the tests in a report.
  let name: String

  /// All tests of targets.
  init(targets: [String]) {
    filter = "^(\(targets.joined(separator: "|")))\\."
    name = targets.joined(separator: ", ")
  }

  /// Single tests, or their suites if the names of so many tests would not fit into an argument of a command.
  ///
  /// - Parameter tests: Identifiers such as `CoreTests.Fetching/sorts()`.
  init(tests: Set<String>) {
    func pattern(_ names: Set<String>) -> String { names.sorted().map(Self.escaped).joined(separator: "|") }
    let single = pattern(tests)
    let all = single.utf8.count < 100_000 ? single : pattern(Set(tests.map(Self.suite)))
    filter = "^(\(all))(/|$)"
    name = Set(tests.map { String($0.prefix { $0 != "." }) }).sorted().joined(separator: ", ")
  }

  private static func suite(of test: String) -> String { String(test.prefix { $0 != "/" }) }

  private static func escaped(_ text: String) -> String {
    text.reduce(into: "") { result, character in
      if !character.isLetter, !character.isNumber, character != "_", character != "/", character != " " {
        result.append("\\")
      }
      result.append(character)
    }
  }
}
