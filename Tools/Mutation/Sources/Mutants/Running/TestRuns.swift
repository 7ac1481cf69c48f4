import Foundation

/// Runs the test targets of a build with one of its mutants.
struct TestRuns: Sendable {
  enum Outcome: Equatable {
    case passed
    /// A test has failed or the run was ended; has the message.
    case caught(String)
  }

  /// The duration in seconds up to which a target shares a process with other targets, because starting a process is
  /// slow.
  private static let quickLimit = 20.0

  private let program: TestProgram
  /// The duration of each target without a mutant, in seconds.
  private var durations: [String: Double] = [:]

  init(_ program: TestProgram) { self.program = program }

  /// Runs a target without a mutant, and stores its duration.
  ///
  /// - Throws: ``MutationFailure`` when a test fails.
  mutating func measure(_ target: String) throws {
    let start = Date()
    let outcome = try program.run([target], number: 0, limit: nil)
    guard outcome == .passed else {
      throw MutationFailure("\(target) fails without a mutant: see \(program.log(of: [target], 0).path).")
    }
    durations[target] = Date().timeIntervalSince(start)
  }

  /// Runs targets until a test fails: first the quick targets in one process, then each other target in its own
  /// process.
  func run(_ targets: [String], as mutant: Mutant) throws -> Outcome {
    for stage in stages(of: targets) {
      // A time limit catches a mutant with an endless loop. The limit is long enough for a slow machine.
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
