import Foundation

/// The program with all tests of a build.
struct TestProgram: Sendable {
  let workingCopy: WorkingCopy
  /// The name of the package, which names the program.
  let package: String

  /// Runs targets in one process until the first test fails.
  ///
  /// - Parameters:
  ///   - number: The number of the mutant; 0 for none.
  ///   - limit: In seconds; `nil` for no limit.
  func run(_ targets: [String], number: Int, limit: Int?) throws -> TestRuns.Outcome {
    let filter = "^(\(targets.joined(separator: "|")))\\."
    let command = Command(
      [".build/debug/\(package)PackageTests.xctest", "--testing-library", "swift-testing", "--filter", filter],
      in: workingCopy.copy, environment: [MutantSwitch.variable: "\(number)", "NO_COLOR": "1"])
    var hasSummary = false
    let ending = try command.run(log: log(of: targets, number), limit: limit) { line in
      if line.hasPrefix("✔ Test run with") { hasSummary = true }
      return line.hasPrefix("✘ Test ")
    }
    let name = targets.joined(separator: ", ")
    switch ending {
    case .stopped(let line): return .caught("\(name): \(line.dropFirst(2))")
    case .timedOut: return .caught("\(name): did not end")
    // A run without tests prints a summary too, but a process that crashed during its tests prints none.
    case .exited(let status): return status == 0 && hasSummary ? .passed : .caught("\(name): ended early")
    }
  }

  /// The output of a run.
  func log(of targets: [String], _ number: Int) -> URL {
    let name = targets.count == 1 ? targets[0] : "quick"
    return workingCopy.logs.appendingPathComponent("\(number)-\(name).log")
  }
}
