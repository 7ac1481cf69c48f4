import ArgumentParser
import Foundation
import Mutants

/// Changes the sources at random lines, and reports the changes that no test detects.
@main
struct Mutate: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "coherence-mutate", abstract: "Changes the sources at random lines, and reports unseen changes.",
    discussion: """
      Every mutant is one change at one line of Modules or Backends. All mutants of a run are in one build, in a copy \
      of the tree in .build/mutants, and an environment variable chooses between them. A run without a mutant records \
      which tests reach which mutants, and only these tests run with a mutant, until the first failure. The same \
      seed makes the same mutants of the same sources.
      """)

  @Option(help: "The seed of the random choices.")
  var seed: UInt64 = 1

  @Option(help: "The number of mutants, including mutants without a type.")
  var count = 20

  @Option(name: .customLong("in"), help: ArgumentHelp("A folder or file to change.", valueName: "path"))
  var folders: [String] = []

  @Option(help: ArgumentHelp("Test only the mutant with this number, of the same seed and count.", valueName: "number"))
  var only: [Int] = []

  @Option(help: ArgumentHelp("Run only the test targets whose names contain this text.", valueName: "text"))
  var tests: [String] = []

  @Option(help: "Leave out the test targets whose names contain this text.")
  var without: [String] = []

  @Option(help: "The number of mutants that are tested at a time.")
  var jobs = 1

  @Flag(
    help: "Use the last run's build and its record of the tests that reach the mutants, of the same seed and count.")
  var built = false

  @Flag(help: "List the mutants, and build and test none.")
  var list = false

  func validate() throws {
    guard count > 0 else { throw ValidationError("--count takes 1 or more.") }
    guard jobs > 0 else { throw ValidationError("--jobs takes 1 or more.") }
  }

  func run() throws {
    let root = URL(fileURLWithPath: FileManager.default.currentDirectoryPath)
    var run = MutationRun(root: root) { line in
      // `print` would buffer the lines if the output is a pipe, although a run takes hours.
      try? FileHandle.standardOutput.write(contentsOf: Data("\(line)\n".utf8))
    }
    run.seed = seed
    run.count = count
    if !folders.isEmpty { run.folders = folders }
    if !only.isEmpty { run.only = Set(only) }
    run.jobs = jobs
    run.usesLastBuild = built
    run.includesTests = { [tests, without] target in
      (tests.isEmpty || tests.contains { target.contains($0) }) && !without.contains { target.contains($0) }
    }
    if list {
      try run.list()
    } else if try run.run() > 0 {
      throw ExitCode.failure
    }
  }
}
