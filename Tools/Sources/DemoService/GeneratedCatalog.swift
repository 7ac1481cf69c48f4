/// Generates packages like the packages that ``PackageCatalog`` reads, for systems without dpkg and for tests of any
/// size.
///
/// The same count and seed give the same catalog on every machine.
public struct GeneratedCatalog: Sendable {
  public var count: Int
  public var seed: UInt64

  public init(count: Int, seed: UInt64 = 1) {
    self.count = count
    self.seed = seed
  }

  public func catalog() -> Catalog {
    var generator = SplitMix64(state: seed)
    let maintainers = (0..<max(1, count / 12)).map { Self.maintainer($0, using: &generator) }
    var names: [String] = []
    var packages: [PackageRecord] = []
    for index in 0..<count {
      let name = Self.name(index, using: &generator)
      packages.append(
        PackageRecord(
          name: name,
          version: "\(Int.random(in: 0...9, using: &generator)).\(Int.random(in: 0...40, using: &generator))-1",
          section: Self.sections[Int.random(in: 0..<Self.sections.count, using: &generator)],
          architecture: Int.random(in: 0..<3, using: &generator) == 0 ? "all" : "amd64",
          installedSize: 1 << Int.random(in: 3...15, using: &generator), summary: "The \(name) package",
          maintainer: maintainers[Int.random(in: 0..<maintainers.count, using: &generator)],
          depends: Self.dependencies(among: names, using: &generator)))
      names.append(name)
    }
    return Catalog(packages)
  }

  private static let sections = [
    "admin", "database", "devel", "doc", "editors", "libs", "net", "python", "utils", "web",
  ]
  private static let stems = ["lib", "python3-", "golang-", "fonts-", "node-", ""]
  private static let syllables = [
    "ar", "bo", "cu", "do", "el", "fi", "gno", "ka", "lu", "mi", "no", "qu", "ra", "ty", "zo",
  ]
  private static let givenNames = ["Ada", "Barbara", "Edsger", "Frances", "Grace", "Hedy", "Ken", "Niklaus", "Tony"]
  private static let familyNames = ["Árnadóttir", "Brown", "Coulon", "Diaz", "Ekström", "Fischer", "Nowak", "Sato"]

  /// The number at the end keeps names apart.
  private static func name(_ index: Int, using generator: inout SplitMix64) -> String {
    let word = (0..<3).map { _ in syllables[Int.random(in: 0..<syllables.count, using: &generator)] }.joined()
    return stems[Int.random(in: 0..<stems.count, using: &generator)] + word + String(index)
  }

  private static func maintainer(_ index: Int, using generator: inout SplitMix64) -> MaintainerRecord {
    let given = givenNames[Int.random(in: 0..<givenNames.count, using: &generator)]
    let family = familyNames[Int.random(in: 0..<familyNames.count, using: &generator)]
    return MaintainerRecord(name: "\(given) \(family)", email: "\(given.lowercased())\(index)@example.org")
  }

  /// Prefers early packages as targets, because in real distributions most packages need a few common packages.
  private static func dependencies(among names: [String], using generator: inout SplitMix64) -> [String] {
    guard !names.isEmpty else { return [] }
    return (0..<Int.random(in: 0...8, using: &generator)).map { _ in
      let reach = Int.random(in: 1...names.count, using: &generator)
      return names[Int.random(in: 0..<reach, using: &generator)]
    }
  }
}

/// A random number generator with the same sequence on every platform.
private struct SplitMix64: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
