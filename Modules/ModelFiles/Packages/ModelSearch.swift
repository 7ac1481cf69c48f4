import CoherenceCore
import Foundation

/// Finds the packages of models among the resources of bundles.
struct ModelSearch {
  /// The name of the model.
  let name: String
  // The depth and the limit bound a search without a result: links may form a cycle, and resources may be many.

  /// The greatest depth of the searched directories of resources.
  private static let depth = 4
  /// The greatest number of directories searched below one root.
  private static let limit = 2000

  /// The package in a bundle; `nil` for none.
  ///
  /// - Throws: ``ErrorCode/invalidModel`` when the bundle has several different packages of the name.
  func package(in bundle: Bundle) throws -> URL? {
    try only(Self.roots(of: bundle).flatMap { deepPackages(in: $0) })
  }

  /// The package among the resources of the program: directly in the main bundle, in the resource bundles beside it,
  /// and in the same places of the loaded bundles. The first place with a package counts.
  ///
  /// - Throws: ``ErrorCode/invalidModel`` when this place has several different packages of the name.
  func packageOfProgram() throws -> URL? {
    var seen: Set<String> = []
    let roots = ([Bundle.main] + Bundle.allBundles + Bundle.allFrameworks).flatMap(Self.roots(of:))
      .filter { seen.insert($0.path).inserted }
    for root in roots {
      if let own = try only(packages(in: root)) { return own }
      let bundles = PackageFiles.names(in: root).filter { $0.hasSuffix(".resources") || $0.hasSuffix(".bundle") }
      let found = bundles.flatMap { deepPackages(in: root.appendingPathComponent($0)) }
      if let package = try only(found) { return package }
    }
    return nil
  }

  /// The directories with a bundle's resources.
  private static func roots(of bundle: Bundle) -> [URL] {
    var seen: Set<String> = []
    var roots = [bundle.resourceURL, bundle.bundleURL].compactMap { $0?.standardizedFileURL }
    // The resource bundles of a package lie beside the bundle of its tests.
    if bundle.bundleURL.pathExtension == "xctest" {
      roots.append(bundle.bundleURL.deletingLastPathComponent().standardizedFileURL)
    }
    return roots.filter { seen.insert($0.path).inserted }
  }

  /// The packages of the name directly in a directory.
  private func packages(in directory: URL) -> [URL] {
    // A name with a slash would lead out of the resources. The slash is found by bytes, because a combining mark joins
    // the slash before it to one character.
    guard !name.isEmpty, !name.utf8.contains(UInt8(ascii: "/")), !name.utf8.contains(0) else { return [] }
    return ["xcdatamodeld", "xcdatamodel"].map { directory.appendingPathComponent("\(name).\($0)") }
      .filter { FileManager.default.fileExists(atPath: $0.path) }
  }

  /// The packages of the name in a directory and the directories in it, from the top, within the bounds.
  private func deepPackages(in root: URL) -> [URL] {
    var found: [URL] = []
    var level = [root]
    var visited = 0
    for _ in 0...Self.depth {
      var next: [URL] = []
      for directory in level where visited < Self.limit {
        visited += 1
        found += packages(in: directory)
        next += PackageFiles.names(in: directory).filter { !$0.hasPrefix(".") && !$0.contains(".xcdatamodel") }
          .map { directory.appendingPathComponent($0) }.filter(PackageFiles.isDirectory)
      }
      level = next
    }
    return found
  }

  /// The first of the packages, whose contents must be the same: a package may be copied into several bundles. `nil` for
  /// none.
  private func only(_ urls: [URL]) throws -> URL? {
    guard let first = urls.first else { return nil }
    guard urls.count > 1 else { return first }
    let file = try ModelFile(contentsOf: first)
    for other in urls.dropFirst() where try ModelFile(contentsOf: other) != file {
      throw CoherenceError(
        .invalidModel,
        "The resources have two different models named '\(name)': '\(first.path)' and '\(other.path)'; rename "
          + "one of them, or pass a bundle that has only one.")
    }
    return first
  }
}
