import Foundation

/// The targets of a package, as `swift package describe --type json` prints them.
struct PackageLayout: Decodable {
  struct Target: Decodable {
    let name: String
    /// `library`, `test`, `macro` and others.
    let type: String
    /// Relative to the root of the package.
    let path: String
    /// Relative to the path of the target.
    let sources: [String]
    /// The direct dependencies of the target in the same package.
    let dependencies: [String]

    private enum CodingKeys: String, CodingKey {
      case name, type, path, sources
      case dependencies = "target_dependencies"
    }

    init(from decoder: any Decoder) throws {
      let values = try decoder.container(keyedBy: CodingKeys.self)
      name = try values.decode(String.self, forKey: .name)
      type = try values.decode(String.self, forKey: .type)
      path = try values.decode(String.self, forKey: .path)
      sources = try values.decode([String].self, forKey: .sources)
      dependencies = try values.decodeIfPresent([String].self, forKey: .dependencies) ?? []
    }
  }

  /// The name of the package.
  let name: String
  let targets: [Target]

  /// The libraries with Swift sources in the folders, by the paths of these sources.
  ///
  /// Macros are excluded, because a mutant in a macro would change the compiler's run instead of the tests' run.
  func libraryOfSource(in folders: [String]) -> [String: Target] {
    var libraries: [String: Target] = [:]
    for target in targets where target.type == "library" {
      for source in target.sources where source.hasSuffix(".swift") {
        let path = "\(target.path)/\(source)"
        if folders.contains(where: { path == $0 || path.hasPrefix("\($0)/") }) { libraries[path] = target }
      }
    }
    return libraries
  }

  /// The names of the test targets that depend on a target, direct dependents first.
  func tests(seeing target: String) -> [String] {
    let tests = targets.filter { $0.type == "test" && dependencies(of: $0).contains(target) }
    let direct = tests.filter { $0.dependencies.contains(target) }
    return direct.map(\.name) + tests.map(\.name).filter { name in !direct.contains { $0.name == name } }
  }

  /// The names of the targets that a target depends on, directly or through others.
  private func dependencies(of target: Target) -> Set<String> {
    let byName = Dictionary(targets.map { ($0.name, $0) }) { first, _ in first }
    var found: Set<String> = []
    var open = target.dependencies
    while let name = open.popLast() {
      if found.insert(name).inserted { open += byName[name]?.dependencies ?? [] }
    }
    return found
  }
}
