import DemoService
import Foundation
import Testing

@Suite("Package catalog")
struct PackageCatalogTests {
  @Test func `a package is read with its maintainer, its size and the first line of its description`() throws {
    let catalog = try Self.catalog(
      """
      Package: libzo
      Status: install ok installed
      Section: libs
      Installed-Size: 42
      Maintainer: Ada Árnadóttir <ada@example.org>
      Architecture: amd64
      Version: 1:2.3-4
      Description: a library
       In several lines.
      """)
    let package = try #require(catalog["libzo"])
    #expect(package.version == "1:2.3-4")
    #expect(package.section == "libs")
    #expect(package.installedSize == 42)
    #expect(package.summary == "a library")
    #expect(package.maintainer == MaintainerRecord(name: "Ada Árnadóttir", email: "ada@example.org"))
  }

  @Test func `dependencies are all alternatives that the catalog has, each once and never the package itself`() throws {
    let catalog = try Self.catalog(
      """
      Package: a
      Version: 1
      Pre-Depends: b (>= 2)
      Depends: c:any | gone | d [amd64], b, a, virtual

      Package: b
      Version: 1

      Package: c
      Version: 1

      Package: d
      Version: 1
      """)
    #expect(catalog["a"]?.depends == ["b", "c", "d"])
  }

  @Test func `removed packages are left out`() throws {
    let catalog = try Self.catalog("Package: a\nStatus: deinstall ok config-files\nVersion: 1\n")
    #expect(catalog.packages.isEmpty)
  }

  @Test func `an installed package replaces a package of the same name in the lists of apt`() throws {
    let directory = try TemporaryDirectory()
    var source = PackageCatalog()
    source.statusFile = try directory.write("Package: a\nVersion: 1\n", to: "status")
    source.listsDirectory = directory.url
    _ = try directory.write("Package: a\nVersion: 2\n\nPackage: b\nVersion: 2\nDepends: a\n", to: "main_Packages")
    let catalog = try source.all()
    #expect(catalog.packages.map(\.name) == ["a", "b"])
    #expect(catalog["a"]?.version == "1")
    #expect(catalog["b"]?.depends == ["a"])
  }

  private static func catalog(_ status: String) throws -> Catalog {
    let directory = try TemporaryDirectory()
    var source = PackageCatalog()
    source.statusFile = try directory.write(status, to: "status")
    return try source.installed()
  }
}

/// A directory removed with its owner.
private final class TemporaryDirectory {
  let url = FileManager.default.temporaryDirectory.appendingPathComponent("coherence-\(UUID().uuidString)")

  init() throws {
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  func write(_ text: String, to name: String) throws -> URL {
    let file = url.appendingPathComponent(name)
    try Data(text.utf8).write(to: file)
    return file
  }
}
