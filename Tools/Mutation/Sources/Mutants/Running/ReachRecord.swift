import Foundation

/// The tests of a target whose code reaches mutants, as a run without a mutant has recorded them.
struct ReachRecord: Equatable {
  /// The identifiers of tests, such as `CoreTests.Fetching/sorts()`, by the numbers of mutants.
  private(set) var tests: [Int: Set<String>] = [:]
  /// The mutants that were reached outside of the tasks of a test, so that any test of the target may reach them.
  private(set) var background: Set<Int> = []

  init() {}

  /// - Parameter lines: Lines of a mutant's number and the identifier of a test with its file, or `-` for no test.
  init(lines: String) {
    for line in lines.split(separator: "\n") {
      let parts = line.split(separator: " ", maxSplits: 1)
      guard parts.count == 2, let number = Int(parts[0]) else { continue }
      if parts[1] == "-" {
        background.insert(number)
      } else {
        tests[number, default: []].insert(Self.identifier(parts[1]))
      }
    }
  }

  /// The number of different tests that reach a mutant.
  var testCount: Int { Set(tests.values.joined()).count }

  /// The number of mutants that each test reaches.
  var mutantCounts: [String: Int] {
    tests.values.joined().reduce(into: [:]) { $0[$1, default: 0] += 1 }
  }

  /// Returns an identifier without its file, line and column.
  private static func identifier(_ text: Substring) -> String {
    text.lastIndex(of: "/").map { String(text[..<$0]) } ?? String(text)
  }
}
