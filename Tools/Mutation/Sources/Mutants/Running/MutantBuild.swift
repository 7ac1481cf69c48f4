import Foundation

/// One build that serves many mutants.
struct MutantBuild {
  let workingCopy: WorkingCopy
  let layout: PackageLayout
  /// The libraries to change, by the paths of their sources.
  private let libraries: [String: PackageLayout.Target]
  private let sources: [String: String]
  /// The mutants that the compiler has not refused.
  private(set) var mutants: [Mutant] = []
  /// The mutants that the compiler refused.
  private(set) var refused: [Mutant] = []

  /// - Parameters:
  ///   - folders: The folders or files to change, as paths from the root.
  ///   - usesLastBuild: Whether the working copy stays as the last build has left it.
  /// - Throws: ``MutationFailure`` when no library has sources in the folders.
  init(_ workingCopy: WorkingCopy, folders: [String], usesLastBuild: Bool = false) throws {
    self.workingCopy = workingCopy
    if !usesLastBuild { try workingCopy.refresh() }
    let description = Command(["swift", "package", "describe", "--type", "json"], in: workingCopy.copy)
    layout = try JSONDecoder().decode(PackageLayout.self, from: Data(description.output().utf8))
    libraries = layout.libraryOfSource(in: folders).filter { !$0.key.hasSuffix("/\(MutantSwitch.fileName)") }
    if libraries.isEmpty {
      throw MutationFailure("No library has Swift sources in \(folders.joined(separator: ", ")).")
    }
    sources = try Dictionary(
      uniqueKeysWithValues: libraries.keys.map { path in
        (path, try String(contentsOf: workingCopy.root.appendingPathComponent(path), encoding: .utf8))
      })
  }

  /// The places of all sources, in the order of their paths.
  func sites() -> [MutationSite] {
    sources.sorted { $0.key < $1.key }.flatMap { SiteFinder.sites(in: $0.value, path: $0.key) }
  }

  /// Returns the name of a mutant's target.
  func target(of mutant: Mutant) -> String { libraries[mutant.site.path]?.name ?? "" }

  /// Builds the tests with all mutants that the compiler accepts.
  ///
  /// - Throws: ``MutationFailure`` when the build fails for another reason than a mutant.
  mutating func build(_ drawn: [Mutant]) throws {
    mutants = drawn
    refused = []
    while true {
      let mutated = Dictionary(grouping: mutants, by: \.site.path).map { path, mutants in
        (path, MutatedSource(sources[path] ?? "", mutants: mutants))
      }
      let files = Dictionary(uniqueKeysWithValues: mutated)
      try workingCopy.refresh(replacing: try replacedFiles(files))
      let log = workingCopy.logs.appendingPathComponent("build.log")
      let ending = try Command(buildCommand, in: workingCopy.copy).run(log: log)
      if ending == .exited(0) { return try noteRefused() }
      let blamed = try blamedMutants(files, log: log)
      if blamed.isEmpty { throw MutationFailure("The build fails, and no mutant is why: see \(log.path).") }
      mutants.removeAll(where: blamed.contains)
      refused += blamed.sorted { $0.number < $1.number }
    }
  }

  /// Takes the mutants of the last build.
  ///
  /// - Parameter drawn: The mutants that were drawn for that build.
  mutating func useLastBuild(of drawn: [Mutant]) throws {
    let lines = try String(contentsOf: refusedFile, encoding: .utf8).split(separator: "\n")
    let numbers = Set(lines.compactMap { Int($0) })
    mutants = drawn.filter { !numbers.contains($0.number) }
    refused = drawn.filter { numbers.contains($0.number) }
  }

  private func noteRefused() throws {
    try Data(refused.map { "\($0.number)\n" }.joined().utf8).write(to: refusedFile)
  }

  private var refusedFile: URL { workingCopy.logs.appendingPathComponent("refused.txt") }

  /// The build of CI: whole-module optimization, no debugger, and each module once.
  private var buildCommand: [String] {
    ["swift", "build", "--product", "\(layout.name)PackageTests", "-debug-info-format", "none"]
      + ["-wmo", "-num-threads", "1"].flatMap { ["-Xswiftc", $0] }
  }

  private func replacedFiles(_ mutated: [String: MutatedSource]) throws -> [String: String] {
    var replaced = mutated.mapValues(\.text)
    // Libraries without mutants get the switch too, so that the manifest of the build is the same for every seed.
    for target in libraries.values { replaced["\(target.path)/\(MutantSwitch.fileName)"] = MutantSwitch.source }
    // A mutant may make code unreachable, which must not fail the build.
    let manifest = try String(
      contentsOf: workingCopy.root.appendingPathComponent("Package.swift"), encoding: .utf8)
    replaced["Package.swift"] = manifest.replacingOccurrences(of: ".treatAllWarnings(as: .error),", with: "")
    return replaced
  }

  private func blamedMutants(_ files: [String: MutatedSource], log: URL) throws -> Set<Mutant> {
    let output = String(decoding: try Data(contentsOf: log), as: UTF8.self)
    let errors = CompilerErrors(in: output, root: workingCopy.copy.resolvingSymlinksInPath().path)
    let blamed = errors.lines.flatMap { path, lines in lines.flatMap { files[path]?.mutants(blamedAt: $0) ?? [] } }
    return Set(blamed)
  }
}
