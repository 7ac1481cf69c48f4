import CoherenceCore
import CoherenceModelFiles
import Foundation
import Testing

@Suite("Model files: places of files")
struct ModelSearchTests {
  private let directory = PackageDirectory()

  private static func file(_ name: String) -> ModelFile { ModelFile(entities: [ModelFile.Entity(name)]) }

  /// The message of the error from reading the model of a name in a bundle, or `no error`.
  private func fault(_ name: String, in bundle: Bundle?) -> String {
    do {
      _ = try ManagedObjectModel(named: name, in: bundle, classes: .generic)
      return "no error"
    } catch {
      return "\(error)"
    }
  }

  // MARK: Bundles

  @Test func `a file four folders below the resources is found, and a file below five folders is not`() throws {
    let bundle = try directory.bundle("App.resources")
    try Self.file("A").write(to: directory.file("App.resources/a/b/c/d/Deep.xcdatamodeld"))
    try Self.file("A").write(to: directory.file("App.resources/a/b/c/d/e/Deeper.xcdatamodeld"))
    #expect(fault("Deep", in: bundle) == "no error")
    #expect(fault("Deeper", in: bundle).contains("No file 'Deeper.xcdatamodeld'"))
  }

  @Test func `files in hidden folders and versions within a package are not found`() throws {
    let bundle = try directory.bundle("App.resources")
    try Self.file("A").write(to: directory.file("App.resources/.hidden/Secret.xcdatamodeld"))
    let package = ModelPackage(
      name: "Music", versions: [.init("Old", Self.file("A")), .init("New", Self.file("B"))], currentVersion: "New")
    try package.write(to: directory.file("App.resources/Music.xcdatamodeld"))
    #expect(fault("Secret", in: bundle).contains("No file 'Secret.xcdatamodeld'"))
    #expect(fault("Old", in: bundle).contains("No file 'Old.xcdatamodeld'"))
    #expect(fault("Music", in: bundle) == "no error")
  }

  @Test func `an empty name finds no file, although a file may consist of the extension`() throws {
    let bundle = try directory.bundle("App.resources")
    try FileManager.default.createDirectory(
      at: directory.file("App.resources/.xcdatamodeld"), withIntermediateDirectories: true)
    #expect(fault("", in: bundle).contains("No file '.xcdatamodeld'"))
  }

  @Test func `two different files of a name are an error`() throws {
    let bundle = try directory.bundle("App.resources")
    try Self.file("A").write(to: directory.file("App.resources/One/Shelf.xcdatamodeld"))
    try Self.file("B").write(to: directory.file("App.resources/Two/Shelf.xcdatamodeld"))
    #expect(fault("Shelf", in: bundle).contains("two different models named 'Shelf'"))
  }

  @Test func `the error of a missing file names the bundle or the resources of the program`() throws {
    let bundle = try directory.bundle("App.resources")
    #expect(fault("Gone", in: bundle).contains("is in the bundle '\(bundle.bundleURL.path)'"))
    #expect(fault("NoShelfModel", in: nil).contains("is in the program's resources"))
  }

  // MARK: Files

  @Test func `a file without a package is read, and its faults name its path`() throws {
    _ = try directory.bundle("App.resources")
    let url = directory.file("App.resources/plain.xml")
    try Data("<model><entity name=\"A\"/></model>".utf8).write(to: url)
    let file = try ModelFile(contentsOf: url)
    #expect(file.name == nil && file.entities.map(\.name) == ["A"])
    try Data("<model><entity/></model>".utf8).write(to: url)
    #expect { try ModelFile(contentsOf: url) } throws: { "\($0)".contains("'\(url.path)'") }
  }

  @Test func `a file above the size limit is refused for its size`() throws {
    _ = try directory.bundle("App.resources")
    let url = directory.file("App.resources/large.xml")
    try Data(count: 8_000_001).write(to: url)
    #expect { try ModelFile(contentsOf: url) } throws: { "\($0)".contains("more than 8000000 bytes") }
  }

  @Test func `a file in the place of a package is refused because it is not a directory`() throws {
    _ = try directory.bundle("App.resources")
    let url = directory.file("App.resources/Flat.xcdatamodeld")
    try Data("text".utf8).write(to: url)
    #expect { try ModelPackage(contentsOf: url) } throws: {
      ErrorCode.modelNotFound ~= $0 && "\($0)".contains("is not a directory")
    }
  }

  // MARK: Packages

  @Test func `a version of a package has the name of the package`() throws {
    let package = ModelPackage(name: "Music", versions: [.init("One", Self.file("A"))])
    #expect(try package.current.name == "Music")
  }

  @Test func `a file written to a package of several versions without a current version becomes a version of its own`()
    throws
  {
    let url = directory.file("Music.xcdatamodeld")
    let versions: [ModelPackage.Version] = [.init("One", Self.file("A")), .init("Two", Self.file("B"))]
    try ModelPackage(name: "Music", versions: versions, currentVersion: "Two").write(to: url)
    try FileManager.default.removeItem(at: url.appendingPathComponent(".xccurrentversion"))
    try Self.file("New").write(to: url)
    let package = try ModelPackage(contentsOf: url)
    #expect(package.versions.map(\.name) == ["Music", "One", "Two"] && package.currentVersion == "Music")
    #expect(package.versions.map { $0.file.entities[0].name } == ["New", "A", "B"])
  }

  /// The name of the current version in a property list with some text before and after the list.
  private func currentVersion(before: String, text: String = "One", after: String = "") throws -> String? {
    let url = directory.file("Music.xcdatamodeld")
    try ModelPackage(name: "Music", versions: [.init("One", Self.file("A"))]).write(to: url)
    let list = "<plist><dict><key>_XCCurrentVersionName</key><string>\(text)</string></dict></plist>"
    try Data((before + list + after).utf8).write(to: url.appendingPathComponent(".xccurrentversion"))
    return try ModelPackage(contentsOf: url).currentVersion
  }

  @Test func `the document type of a property list may precede a long text`() throws {
    let comment = "<!--\(String(repeating: "x", count: 1200))-->"
    #expect(try currentVersion(before: "<!DOCTYPE plist PUBLIC \"a\" \"b\">", after: comment) == "One")
  }

  @Test func `a property list that declares entities is refused`() {
    #expect {
      try currentVersion(before: "<!DOCTYPE plist PUBLIC \"a\" \"b\" [<!ENTITY e \'One\'>]>", text: "&e;")
    } throws: {
      "\($0)".contains("declares a document type")
    }
  }

  // MARK: Former names

  private static func package(_ versions: [ModelFile]) -> ModelPackage {
    let named = versions.enumerated().map { ModelPackage.Version("\($0.offset + 1)", $0.element) }
    return ModelPackage(name: "M", versions: named, currentVersion: "\(versions.count)")
  }

  @Test func `a renaming identifier of the only version, or equal to the own name, has no warning`() throws {
    let renamed = ModelFile(entities: [ModelFile.Entity("A", renamingIdentifier: "Old")])
    #expect(try Self.package([renamed]).current.warnings == [])
    let own = ModelFile(entities: [ModelFile.Entity("A", renamingIdentifier: "A")])
    #expect(try Self.package([Self.file("Z"), own]).current.warnings == [])
  }

  @Test func `a former name that two properties or two parts would have belongs to neither`() throws {
    func version(_ attributes: [ModelFile.Attribute]) -> ModelFile {
      let box = ModelFile.Attribute("box", .composite, parts: attributes)
      return ModelFile(entities: [ModelFile.Entity("A", attributes: attributes + [box])])
    }
    let package = Self.package([
      version([.init("old", .double)]),
      version([.init("a", .double, renamingIdentifier: "old"), .init("b", .double, renamingIdentifier: "old")]),
      version([.init("a", .double), .init("b", .double)]),
    ])
    let entity = try package.current.model().entities[0]
    for name in ["a", "b", "box.a", "box.b"] { #expect(entity.attribute(named: name)?.formerNames == [], "\(name)") }
  }

  @Test func `a composite type that contains itself in every version is an error`() {
    let part = ModelFile.Attribute("l", .composite, compositeName: "Loop")
    let version = ModelFile(
      entities: [ModelFile.Entity("A", attributes: [part])], composites: [.init("Loop", parts: [part])])
    #expect { try Self.package([version, version]).current.model() } throws: {
      ErrorCode.invalidModel ~= $0 && "\($0)".contains("The composite type 'Loop' contains itself")
    }
  }
}
