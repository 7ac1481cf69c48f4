import Foundation

/// Runs the tests of a build that reach one of its mutants.
struct TestRuns: Sendable {
  enum Outcome: Equatable {
    /// No test has failed, or no test reaches the mutant.
    case passed
    /// A test has failed or the run was ended; has the message.
    case caught(String)
  }

  private let program: TestProgram
  /// The duration of each target without a mutant, in seconds.
  private var durations: [String: Double] = [:]
  private var records: [String: ReachRecord] = [:]
  /// The number of mutants that each test reaches.
  private var mutantCounts: [String: Int] = [:]
  /// The number of tests that run first for a mutant.
  private static let firstCount = 30

  init(_ program: TestProgram) { self.program = program }

  /// Runs a target without a mutant, and stores its duration and which of its tests reach which mutants.
  ///
  /// - Parameter usesLastRecord: Whether to use the record of the last run instead, if it has one.
  /// - Throws: ``MutationFailure`` when a test fails.
  mutating func measure(_ target: String, usesLastRecord: Bool = false) throws {
    if usesLastRecord, let (seconds, record) = program.lastRecord(target) {
      return store(record, of: target, duration: seconds)
    }
    let start = Date()
    let (outcome, record) = try program.record(target)
    guard outcome == .passed else {
      throw MutationFailure("\(target) fails without a mutant: see \(program.log(of: target).path).")
    }
    store(record, of: target, duration: Date().timeIntervalSince(start))
  }

  private mutating func store(_ record: ReachRecord, of target: String, duration: Double) {
    durations[target] = duration
    records[target] = record
    mutantCounts.merge(record.mutantCounts, uniquingKeysWith: +)
  }

  /// The number of tests of some targets that are known to reach a mutant.
  func testCount(_ mutant: Mutant, in targets: [String]) -> Int { tests(of: targets, reaching: mutant).count }

  /// Runs tests until one fails: first a few of the tests that reached the mutant in their own tasks, then all of them,
  /// target by target, and then each target that reached it in the background.
  func run(_ targets: [String], as mutant: Mutant) throws -> Outcome {
    let first = mostSpecific(of: tests(of: targets, reaching: mutant))
    let shortestFirst = targets.sorted { durations[$0, default: 0] < durations[$1, default: 0] }
    // The tests of several targets get the time of the longest one, so that a slow machine ends none of them early.
    let longest = targets.map { limit([$0], reaching: mutant) }.max() ?? 0
    var selections = [(tests: first, limit: longest)]
    for target in shortestFirst {
      let rest = tests(of: [target], reaching: mutant).subtracting(first)
      selections.append((rest, limit([target], reaching: mutant)))
    }
    for (tests, limit) in selections where !tests.isEmpty {
      let outcome = try program.run(TestSelection(tests: tests), number: mutant.number, limit: limit)
      if outcome != .passed { return outcome }
    }
    for target in shortestFirst where records[target]?.background.contains(mutant.number) == true {
      let limit = 60 + 4 * Int(durations[target, default: 0])
      let outcome = try program.run(TestSelection(targets: [target]), number: mutant.number, limit: limit)
      if outcome != .passed { return outcome }
    }
    return .passed
  }

  private func tests(of targets: [String], reaching mutant: Mutant) -> Set<String> {
    targets.reduce(into: []) { $0.formUnion(records[$1]?.tests[mutant.number] ?? []) }
  }

  /// The tests that reach the fewest mutants, at most ``firstCount``.
  ///
  /// They are about the mutated line rather than about all that uses it, so they often catch the mutant within seconds,
  /// where all tests that reach the line take minutes. A test that reaches most of the mutants, such as a suite with a
  /// single test function, is none of them.
  private func mostSpecific(of tests: Set<String>) -> Set<String> {
    let limit = (mutantCounts.values.max() ?? 0) / 2
    let specific = tests.filter { mutantCounts[$0, default: 0] <= limit }
    return Set(specific.sorted { (mutantCounts[$0] ?? 0, $0) < (mutantCounts[$1] ?? 0, $1) }.prefix(Self.firstCount))
  }

  /// The seconds for the tests that reach a mutant: a time limit catches a mutant with an endless loop, and is long
  /// enough for a slow machine.
  private func limit(_ targets: [String], reaching mutant: Mutant) -> Int {
    let seconds = targets.reduce(0.0) { sum, target in
      guard let record = records[target], let tests = record.tests[mutant.number] else { return sum }
      // The duration of a single test is unknown. The slowest test of a target may take half of the target's time.
      let share = max(0.5, Double(tests.count) / Double(record.testCount))
      return sum + durations[target, default: 0] * share
    }
    return 60 + 2 * Int(seconds)
  }
}
