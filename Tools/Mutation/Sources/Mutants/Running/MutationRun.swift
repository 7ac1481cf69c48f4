import Foundation
import Synchronization

/// Makes mutants, tests them, and reports the survivors.
public struct MutationRun: Sendable {
  public var seed: UInt64 = 1
  public var count = 20
  /// The folders whose sources are changed.
  public var folders = ["Modules", "Backends"]
  /// The numbers of the mutants to test; `nil` for all. The build contains all mutants of the seed in either case.
  public var only: Set<Int>?
  /// Whether to use the last run's build, and its record of the tests that reach each mutant. They have to be of the
  /// same seed, count and sources.
  public var usesLastBuild = false
  /// Whether the run uses a test target.
  public var includesTests: @Sendable (String) -> Bool = { _ in true }
  /// The number of mutants to test concurrently.
  public var jobs = 1
  private let workingCopy: WorkingCopy
  private let write: @Sendable (String) -> Void

  /// - Parameters:
  ///   - root: The repository.
  ///   - write: Receives each line of the report.
  public init(root: URL, write: @escaping @Sendable (String) -> Void) {
    workingCopy = WorkingCopy(root: root)
    self.write = write
  }

  /// Writes the list of the seed's mutants, without a build.
  public func list() throws {
    let build = try MutantBuild(workingCopy, folders: folders)
    for mutant in draw(build) { write(Self.description(of: mutant)) }
  }

  /// Builds and tests the mutants of the seed.
  ///
  /// - Returns: The number of survivors.
  /// - Throws: ``MutationFailure`` when the build or a test also fails without a mutant.
  public func run() throws -> Int {
    var build = try MutantBuild(workingCopy, folders: folders, usesLastBuild: usesLastBuild)
    if usesLastBuild { try build.useLastBuild(of: draw(build)) } else { try build.build(draw(build)) }
    for mutant in build.refused { write("\(mutant.number): has no type") }
    let tested = build.mutants.filter { only?.contains($0.number) != false }
    var runs = TestRuns(TestProgram(workingCopy: workingCopy, package: build.layout.name))
    for target in Set(tested.flatMap { tests(of: $0, build) }).sorted() {
      write("\(target) without a mutant")
      try runs.measure(target, usesLastRecord: usesLastBuild)
    }
    let survivors = try test(tested.map { ($0, tests(of: $0, build)) }, by: runs)
    report(survivors, of: tested.count, refused: build.refused.count)
    return survivors.count
  }

  /// Tests mutants concurrently, and writes a line for each.
  ///
  /// - Parameter tested: The mutants with their test targets.
  /// - Returns: The survivors, in the order of their numbers.
  private func test(_ tested: [(Mutant, [String])], by runs: TestRuns) throws -> [Mutant] {
    let state = Mutex((next: 0, survivors: [Mutant](), failure: (any Error)?.none))
    DispatchQueue.concurrentPerform(iterations: jobs) { _ in
      while true {
        let index = state.withLock { state in
          defer { state.next += 1 }
          return state.failure == nil ? state.next : tested.count
        }
        guard index < tested.count else { return }
        let (mutant, targets) = tested[index]
        let outcome = Result { try runs.run(targets, as: mutant) }
        state.withLock { state in
          switch outcome {
          case .success(.passed):
            state.survivors.append(mutant)
            write("\(mutant.number): SURVIVED \(runs.testCount(mutant, in: targets)) tests that reach it")
          case .success(.caught(let sentence)): write("\(mutant.number): caught by \(sentence)")
          case .failure(let error): state.failure = error
          }
        }
      }
    }
    return try state.withLock { state in
      if let failure = state.failure { throw failure }
      return state.survivors.sorted { $0.number < $1.number }
    }
  }

  private func draw(_ build: MutantBuild) -> [Mutant] {
    MutantDraw.mutants(count, from: build.sites(), seed: seed)
  }

  private func tests(of mutant: Mutant, _ build: MutantBuild) -> [String] {
    build.layout.tests(seeing: build.target(of: mutant)).filter(includesTests)
  }

  private func report(_ survivors: [Mutant], of count: Int, refused: Int) {
    write("\nSeed \(seed): \(count) mutants tested, \(refused) without a type, \(survivors.count) survived")
    for mutant in survivors { write(Self.description(of: mutant)) }
  }

  /// Describes a mutant in three lines: its number, file, line and change, the code before, and the code after.
  static func description(of mutant: Mutant) -> String {
    let site = mutant.site
    return """
      \(mutant.number): \(site.path):\(site.line) \(site.mutationOperator.rawValue)
        - \(oneLine(site.original))
        + \(oneLine(site.mutated))
      """
  }

  private static func oneLine(_ code: String) -> String {
    code.split(whereSeparator: \.isNewline).map { $0.trimmingCharacters(in: .whitespaces) }.joined(separator: " ")
  }
}
