import Foundation

/// The program with all tests of a build.
struct TestProgram: Sendable {
  let workingCopy: WorkingCopy
  /// The name of the package, which names the program.
  let package: String

  /// Runs a target in one process until the first test fails, without a mutant, and records which tests reach mutants.
  func record(_ target: String) throws -> (outcome: TestRuns.Outcome, record: ReachRecord) {
    let file = recordFile(target)
    try Data().write(to: file)
    let outcome = try run(
      TestSelection(targets: [target]), environment: [MutantSwitch.recordVariable: file.path],
      log: log(named: "0-\(target)"), limit: nil)
    return (outcome, ReachRecord(lines: String(decoding: try Data(contentsOf: file), as: UTF8.self)))
  }

  /// The duration in seconds and the record of a target, of the last run in which its tests passed without a mutant.
  func lastRecord(_ target: String) -> (seconds: Double, record: ReachRecord)? {
    guard let output = try? String(contentsOf: log(of: target), encoding: .utf8),
      let seconds = output.split(separator: "\n").last.flatMap(Self.seconds),
      let lines = try? String(contentsOf: recordFile(target), encoding: .utf8)
    else { return nil }
    return (seconds, ReachRecord(lines: lines))
  }

  /// The duration in the summary of a run that passed.
  static func seconds(inSummary line: Substring) -> Double? {
    guard line.hasPrefix("✔ Test run with"), let end = line.range(of: " seconds.") else { return nil }
    return line[..<end.lowerBound].split(separator: " ").last.flatMap { Double($0) }
  }

  private func recordFile(_ target: String) -> URL { workingCopy.logs.appendingPathComponent("reach-\(target).log") }

  /// Runs tests in one process until the first test fails.
  ///
  /// - Parameters:
  ///   - number: The number of the mutant.
  ///   - limit: In seconds.
  func run(_ tests: TestSelection, number: Int, limit: Int) throws -> TestRuns.Outcome {
    try run(
      tests, environment: [MutantSwitch.variable: "\(number)"], log: log(named: "\(number)-\(tests.name)"),
      limit: limit)
  }

  private func run(
    _ tests: TestSelection, environment: [String: String], log: URL, limit: Int?
  ) throws -> TestRuns.Outcome {
    let width = 8 * ProcessInfo.processInfo.activeProcessorCount
    let command = Command(
      [
        ".build/debug/\(package)PackageTests.xctest", "--testing-library", "swift-testing",
        "--experimental-maximum-parallelization-width", "\(width)", "--filter", tests.filter,
      ],
      in: workingCopy.copy, environment: environment.merging(["NO_COLOR": "1"]) { $1 })
    var hasSummary = false
    let ending = try command.run(log: log, limit: limit) { line in
      if line.hasPrefix("✔ Test run with") { hasSummary = true }
      return line.hasPrefix("✘ Test ")
    }
    switch ending {
    // The line of a failed expectation has the values of its expression, which may be long.
    case .stopped(let line): return .caught("\(tests.name): \(line.dropFirst(2).prefix(300))")
    case .timedOut: return .caught("\(tests.name): did not end")
    // A run without tests prints a summary too, but a process that crashed during its tests prints none.
    case .exited(let status): return status == 0 && hasSummary ? .passed : .caught("\(tests.name): ended early")
    }
  }

  /// The output of a run without a mutant.
  func log(of target: String) -> URL { log(named: "0-\(target)") }

  private func log(named name: String) -> URL {
    // A file name is limited to 255 bytes.
    workingCopy.logs.appendingPathComponent("\(name.prefix(200)).log")
  }
}
