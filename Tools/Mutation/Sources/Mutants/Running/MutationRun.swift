import Foundation

/// Makes mutants, tests them, and reports the survivors.
public struct MutationRun {
  public var seed: UInt64 = 1
  public var count = 20
  /// The folders in which mutants are made.
  public var folders = ["Modules", "Backends"]
  /// The numbers of the mutants to test; `nil` for all. They are built together all the same.
  public var only: Set<Int>?
  /// Whether a target of tests takes part.
  public var includesTests: (String) -> Bool = { _ in true }
  private let workingCopy: WorkingCopy
  private let write: (String) -> Void

  /// - Parameters:
  ///   - root: The repository.
  ///   - write: Takes the lines of the report, as they come.
  public init(root: URL, write: @escaping (String) -> Void) {
    workingCopy = WorkingCopy(root: root)
    self.write = write
  }

  /// Writes the mutants of the seed, without building any.
  public func list() throws {
    let build = try MutantBuild(workingCopy, folders: folders)
    for mutant in draw(build) { write(Self.description(of: mutant)) }
  }

  /// Builds and tests the mutants of the seed.
  ///
  /// - Returns: How many survived.
  /// - Throws: ``MutationFailure`` when the build or a test fails without a mutant too.
  public func run() throws -> Int {
    var build = try MutantBuild(workingCopy, folders: folders)
    try build.build(draw(build))
    for mutant in build.refused { write("\(mutant.number): has no type") }
    let tested = build.mutants.filter { only?.contains($0.number) != false }
    var runs = TestRuns(workingCopy)
    for target in Set(tested.flatMap { tests(of: $0, build) }).sorted() {
      write("\(target) without a mutant")
      try runs.measure(target)
    }
    var survivors: [Mutant] = []
    for mutant in tested {
      let outcome = try runs.run(tests(of: mutant, build), as: mutant)
      switch outcome {
      case .passed:
        survivors.append(mutant)
        write("\(mutant.number): SURVIVED")
      case .caught(let sentence): write("\(mutant.number): caught by \(sentence)")
      }
    }
    report(survivors, of: tested.count, refused: build.refused.count)
    return survivors.count
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

  /// The number, the place, the change, and the code before and after, in three lines.
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
