/// The packages that the demo serves, from any source.
///
/// A catalog is always consistent: names are unique, and every dependency is a package of the catalog.
public struct Catalog: Sendable, Equatable {
  /// Sorted by name.
  public private(set) var packages: [PackageRecord]
  private let indexOfName: [String: Int]

  /// Makes a catalog. Drops later packages with the name of an earlier package, and dependencies on unknown packages, on the
  /// package itself, and on a package that is listed before.
  public init(_ candidates: [PackageRecord]) {
    var seen: Set<String> = []
    let unique = candidates.filter { seen.insert($0.name).inserted }.sorted { $0.name < $1.name }
    packages = unique.map { package in
      var package = package
      var named: Set<String> = [package.name]
      package.depends = package.depends.filter { seen.contains($0) && named.insert($0).inserted }
      return package
    }
    indexOfName = Dictionary(uniqueKeysWithValues: packages.enumerated().map { ($1.name, $0) })
  }

  /// All maintainers, sorted by e-mail address, then by name.
  public var maintainers: [MaintainerRecord] {
    Set(packages.map(\.maintainer)).sorted { ($0.email, $0.name) < ($1.email, $1.name) }
  }

  /// The names of all sections, sorted.
  public var sections: [String] { Set(packages.map(\.section)).sorted() }

  /// The package with a name; `nil` for an unknown name.
  public subscript(name: String) -> PackageRecord? { indexOfName[name].map { packages[$0] } }

  /// Applies the given values of an edit, and counts the edit as a revision. Returns the package's new value; `nil` for an
  /// unknown package.
  public mutating func apply(_ edit: PackageEdit, to name: String) -> PackageRecord? {
    guard let index = indexOfName[name] else { return nil }
    var package = packages[index]
    package.version = edit.version ?? package.version
    package.section = edit.section ?? package.section
    package.summary = edit.summary ?? package.summary
    package.installedSize = edit.installedSize ?? package.installedSize
    package.revision += 1
    packages[index] = package
    return package
  }
}
