import Foundation

/// Runs the targets of tests of a build, as one of its mutants.
struct TestRuns: Sendable {
  enum Outcome: Equatable {
    case passed
    /// With a sentence.
    case caught(String)
  }

  /// The seconds up to which a target runs together with others, so that the start of a process is paid once.
  private static let quickLimit = 20.0

  private let program: TestProgram
  /// Seconds that each target took without a mutant.
  private var durations: [String: Double] = [:]

  init(_ program: TestProgram) { self.program = program }

  /// Runs a target without a mutant, and remembers the time.
  ///
  /// - Throws: ``MutationFailure`` when it fails.
  mutating func measure(_ target: String) throws {
    let start = Date()
    let outcome = try program.run([target], number: 0, limit: nil)
    guard outcome == .passed else {
      throw MutationFailure("\(target) fails without a mutant: see \(program.log(of: [target], 0).path).")
    }
    durations[target] = Date().timeIntervalSince(start)
  }

  /// Runs targets until a test fails: the quick ones together, then the others one after the other.
  func run(_ targets: [String], as mutant: Mutant) throws -> Outcome {
    for stage in stages(of: targets) {
      // A mutant that makes a loop endless is caught by the time; a slow machine is not taken for one.
      let limit = 60 + 4 * Int(stage.reduce(0) { $0 + durations[$1, default: 0] })
      let outcome = try program.run(stage, number: mutant.number, limit: limit)
      if outcome != .passed { return outcome }
    }
    return .passed
  }

  private func stages(of targets: [String]) -> [[String]] {
    let sorted = targets.sorted { durations[$0, default: 0] < durations[$1, default: 0] }
    let quick = sorted.prefix { durations[$0, default: 0] <= Self.quickLimit }
    return (quick.isEmpty ? [] : [Array(quick)]) + sorted.dropFirst(quick.count).map { [$0] }
  }
}
