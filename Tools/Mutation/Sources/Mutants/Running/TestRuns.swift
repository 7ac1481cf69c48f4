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

  init(_ program: TestProgram) { self.program = program }

  /// Runs a target without a mutant, and stores its duration and which of its tests reach which mutants.
  ///
  /// - Throws: ``MutationFailure`` when a test fails.
  mutating func measure(_ target: String) throws {
    let start = Date()
    let (outcome, record) = try program.record(target)
    guard outcome == .passed else {
      throw MutationFailure("\(target) fails without a mutant: see \(program.log(of: target).path).")
    }
    durations[target] = Date().timeIntervalSince(start)
    records[target] = record
  }

  /// The number of tests of some targets that are known to reach a mutant.
  func testCount(_ mutant: Mutant, in targets: [String]) -> Int { tests(of: targets, reaching: mutant).count }

  /// Runs tests until one fails: first the tests that reached the mutant in their own tasks, in one process, and then
  /// each target that reached it in the background.
  func run(_ targets: [String], as mutant: Mutant) throws -> Outcome {
    let tests = tests(of: targets, reaching: mutant)
    if !tests.isEmpty {
      let selection = TestSelection(tests: tests)
      let outcome = try program.run(selection, number: mutant.number, limit: limit(targets, reaching: mutant))
      if outcome != .passed { return outcome }
    }
    for target in targets where records[target]?.background.contains(mutant.number) == true {
      let limit = 60 + 4 * Int(durations[target, default: 0])
      let outcome = try program.run(TestSelection(targets: [target]), number: mutant.number, limit: limit)
      if outcome != .passed { return outcome }
    }
    return .passed
  }

  private func tests(of targets: [String], reaching mutant: Mutant) -> Set<String> {
    targets.reduce(into: []) { $0.formUnion(records[$1]?.tests[mutant.number] ?? []) }
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
