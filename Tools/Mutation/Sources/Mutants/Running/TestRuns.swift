import Foundation

/// Runs the targets of tests of a build, as one of its mutants.
struct TestRuns {
  enum Outcome: Equatable {
    case passed
    /// With a sentence.
    case caught(String)
  }

  let workingCopy: WorkingCopy
  /// Seconds that each target took without a mutant.
  private var durations: [String: Double] = [:]

  init(_ workingCopy: WorkingCopy) { self.workingCopy = workingCopy }

  /// Runs a target without a mutant, and remembers the time.
  ///
  /// - Throws: ``MutationFailure`` when it fails.
  mutating func measure(_ target: String) throws {
    let start = Date()
    let outcome = try run(target, number: 0, limit: nil)
    guard outcome == .passed else {
      throw MutationFailure("\(target) fails without a mutant: see \(log(of: target, 0).path).")
    }
    durations[target] = Date().timeIntervalSince(start)
  }

  /// Runs targets one after the other, the quick ones first, until one of them fails.
  func run(_ targets: [String], as mutant: Mutant) throws -> Outcome {
    for target in targets.sorted(by: { durations[$0, default: 0] < durations[$1, default: 0] }) {
      // A mutant that makes a loop endless is caught by the time; a slow machine is not taken for one.
      let limit = 60 + 4 * Int(durations[target, default: 0])
      let outcome = try run(target, number: mutant.number, limit: limit)
      if outcome != .passed { return outcome }
    }
    return .passed
  }

  private func run(_ target: String, number: Int, limit: Int?) throws -> Outcome {
    let command = Command(
      ["swift", "test", "--skip-build", "--disable-xctest", "--filter", "^\(target)\\."], in: workingCopy.copy,
      environment: [MutantSwitch.variable: "\(number)"])
    var hasSummary = false
    let ending = try command.run(log: log(of: target, number), limit: limit) { line in
      if line.hasPrefix("✔ Test run with") { hasSummary = true }
      return line.hasPrefix("✘ Test ")
    }
    switch ending {
    case .stopped(let line): return .caught("\(target): \(line.dropFirst(2))")
    case .timedOut: return .caught("\(target): did not end")
    // A run of no tests has a summary too; a process that ended in the midst of its tests has none.
    case .exited(let status): return status == 0 && hasSummary ? .passed : .caught("\(target): ended early")
    }
  }

  private func log(of target: String, _ number: Int) -> URL {
    workingCopy.logs.appendingPathComponent("\(number)-\(target).log")
  }
}
