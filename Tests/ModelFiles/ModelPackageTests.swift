import CoherenceCore
import CoherenceModelFiles
import CoherenceStrategies
import Foundation
import Testing

@Suite("Model files: packages")
struct ModelPackageTests {
  private let directory = PackageDirectory()

  private static func file(_ contents: String) throws -> ModelFile { try MusicFile.make(MusicFile.model(contents)) }

  @Test func `a written package is read again, with its versions and the current version`() throws {
    let url = directory.file("Music.xcdatamodeld")
    let old = try Self.file("<entity name=\"Song\"></entity>")
    let package = ModelPackage(
      name: "Music", versions: [.init("Music", old), .init("Music 2", try MusicFile.make())], currentVersion: "Music 2")
    try package.write(to: url)
    #expect(try ModelPackage(contentsOf: url) == package)
    #expect(try ModelFile(contentsOf: url) == MusicFile.make())
    let model = try ManagedObjectModel(contentsOf: url, classes: MusicFile.classes)
    #expect(try model == MusicFile.declared())
    #expect(try ModelFile(contentsOf: url.appendingPathComponent("Music.xcdatamodel")) == old)
  }

  @Test func `writing a file to a package replaces its current version only`() throws {
    let url = directory.file("Shelf.xcdatamodeld")
    let first = try Self.file("<entity name=\"A\"></entity>")
    var second = try Self.file("<entity name=\"B\"></entity>")
    second.name = "Shelf"
    try ModelPackage(
      name: "Shelf", versions: [.init("Shelf", first), .init("Shelf 2", first)], currentVersion: "Shelf 2"
    )
    .write(to: url)
    try second.write(to: url)
    let package = try ModelPackage(contentsOf: url)
    #expect(package.versions.map(\.file.entities[0].name) == ["A", "B"])
    #expect(package.currentVersion == "Shelf 2")
  }

  @Test func `a current version that the package does not have is an error that lists the versions`() throws {
    let url = directory.file("Music.xcdatamodeld")
    let file = try Self.file("<entity name=\"A\"></entity>")
    try ModelPackage(name: "Music", versions: [.init("One", file), .init("Two", file)], currentVersion: "Two")
      .write(to: url)
    try FileManager.default.removeItem(at: url.appendingPathComponent("Two.xcdatamodel"))
    #expect { try ModelFile(contentsOf: url) } throws: {
      ErrorCode.modelNotFound ~= $0 && "\($0)".contains("'Two'") && "\($0)".contains("One")
    }
    try Data("<plist><dict></dict></plist>".utf8).write(to: url.appendingPathComponent(".xccurrentversion"))
    #expect { try ModelFile(contentsOf: url) } throws: { ErrorCode.invalidModel ~= $0 }
  }

  @Test func `the current version is read from the property list that Xcode writes`() throws {
    let url = directory.file("Music.xcdatamodeld")
    let file = try Self.file("<entity name=\"A\"></entity>")
    try ModelPackage(name: "Music", versions: [.init("One", file), .init("Two", file)], currentVersion: "Two")
      .write(to: url)
    let list = """
      <?xml version="1.0" encoding="UTF-8"?>
      <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
      <plist version="1.0">
      <dict>
      	<key>_XCCurrentVersionName</key>
      	<string>One.xcdatamodel</string>
      </dict>
      </plist>
      """
    try Data(list.utf8).write(to: url.appendingPathComponent(".xccurrentversion"))
    #expect(try ModelPackage(contentsOf: url).currentVersion == "One")
  }

  @Test func `names of all earlier versions are former names, also over a version without the identifier`() throws {
    let first = try Self.file(
      "<entity name=\"Song\"><attribute name=\"caption\" attributeType=\"String\"/></entity><entity name=\"B\"></entity>"
    )
    let second = try Self.file(
      """
      <entity name="Track" elementID="Song">
      <attribute name="heading" attributeType="String" elementID="caption"/></entity>
      """)
    let third = try Self.file(
      """
      <entity name="Piece" elementID="Track"><attribute name="title" attributeType="String" elementID="heading"/></entity>
      <entity name="C" elementID="Nowhere"></entity>
      """)
    let package = ModelPackage(
      name: "M", versions: [.init("1", first), .init("2", second), .init("3", third)], currentVersion: "3")
    let model = try package.current.model()
    let piece = try model.entity(named: "Piece")
    #expect(piece.formerNames == ["Track", "Song"])
    #expect(piece.attribute(named: "title")?.formerNames == ["heading", "caption"])
    #expect(model.warnings.contains { $0.contains("'Nowhere'") })
  }

  @Test func `names of the parts of a composite in all earlier versions are former names`() throws {
    /// A version with a composite of a composite, each with its name and its renaming identifier.
    func version(_ composite: String, _ point: String, _ part: String) throws -> ModelFile {
      func attribute(_ names: String, _ rest: String) -> String {
        let parts = names.split(separator: "<")
        let identifier = parts.count > 1 ? " elementID=\"\(parts[1])\"" : ""
        return "<attribute name=\"\(parts[0])\"\(identifier) \(rest)/>"
      }
      return try Self.file(
        """
        <entity name="Shelf">\(attribute(composite, "attributeType=\"Composite\" compositeName=\"Box\""))</entity>
        <composite name="Box">\(attribute(point, "attributeType=\"Composite\" compositeName=\"Point\""))</composite>
        <composite name="Point">\(attribute(part, "attributeType=\"Double\""))</composite>
        """)
    }
    let package = ModelPackage(
      name: "M",
      versions: [
        .init("1", try version("crate", "p", "x")), .init("2", try version("crate", "p", "y<x")),
        .init("3", try version("box<crate", "q<p", "z<y")),
      ], currentVersion: "3")
    let model = try package.current.model()
    let shelf = try model.entity(named: "Shelf")
    let names = try #require(shelf.attribute(named: "box.q.z")).formerNames
    #expect(Set(names).isSuperset(of: ["crate.p.x", "crate.p.y", "box.q.x", "box.q.y"]))
    #expect(Set(names).count == names.count)
    #expect(model.warnings.isEmpty)
    let second = try package.version(named: "2").model().entity(named: "Shelf")
    #expect(second.attribute(named: "crate.p.y")?.formerNames.contains("crate.p.x") == true)
  }

  @Test func `a part of a composite that a written version renames has its former name in a later version`() throws {
    func version(_ part: String, _ formerNames: String...) throws -> ModelFile {
      let shelf = Entity("Shelf") {
        CompositeAttribute("box", parts: [Attribute(part, .double, optional: true, formerNames: formerNames)])
      }
      return ModelFile(try ManagedObjectModel(name: "M", entities: [shelf]))
    }
    let package = ModelPackage(
      name: "M",
      versions: [.init("1", try version("x")), .init("2", try version("y", "box.x")), .init("3", try version("y"))],
      currentVersion: "3")
    let shelf = try package.current.model().entity(named: "Shelf")
    #expect(shelf.attribute(named: "box.y")?.formerNames == ["box.x"])
  }

  @Test func `a missing file, a compiled model and an empty package throw errors with advice`() throws {
    #expect { try ModelFile(contentsOf: directory.file("None.xcdatamodeld")) } throws: { ErrorCode.modelNotFound ~= $0 }
    #expect { try ModelFile(contentsOf: directory.file("Music.momd")) } throws: { "\($0)".contains("copy") }
    let empty = directory.file("Empty.xcdatamodel")
    try FileManager.default.createDirectory(at: empty, withIntermediateDirectories: true)
    #expect { try ModelFile(contentsOf: empty) } throws: { "\($0)".contains("'contents'") }
    #expect { try ModelFile(contentsOf: URL(fileURLWithPath: "/dev/zero")) } throws: { ErrorCode.inputOutput ~= $0 }
  }

  @Test func `a file with a text that XML does not have is not written`() throws {
    let file = ModelFile(entities: [.init("A", userInfo: ["key": "a\u{1}b"])])
    let url = directory.file("A.xcdatamodel")
    #expect { try file.write(to: url) } throws: { ErrorCode.invalidModel ~= $0 }
    #expect(!directory.has("A.xcdatamodel"))
    #expect { try file.write(to: directory.file("A.txt")) } throws: { ErrorCode.inputOutput ~= $0 }
  }

  @Test func `a package with an invalid version is not written, not even in part`() throws {
    let url = directory.file("Music.xcdatamodeld")
    let former = try Self.file("<entity name=\"A\"></entity>")
    let package = ModelPackage(
      name: "Music", versions: [.init("One", former), .init("Two", former)], currentVersion: "Two")
    try package.write(to: url)
    var changed = package
    changed.versions[0].file = try Self.file("<entity name=\"B\"></entity>")
    changed.versions[1].file = ModelFile(entities: [.init("A", userInfo: ["key": "a\u{1}b"])])
    #expect { try changed.write(to: url) } throws: { ErrorCode.invalidModel ~= $0 }
    #expect(try ModelPackage(contentsOf: url) == package)
  }

  @Test func `a container finds the file with its name among the resources of the program`() throws {
    let container = try GenericPersistentContainer<ContextStrategy.Mixed>(name: "ShelfModel")
    #expect(container.managedObjectModel.entities.map(\.name) == ["Shelf"])
    #expect(container.managedObjectModel.name == "ShelfModel")
    let other = try GenericPersistentContainer<ContextStrategy.Mixed>(name: "ShelfModel")
    #expect(other.managedObjectModel === container.managedObjectModel)
    #expect(try ManagedObjectModel(named: "ShelfModel") == container.managedObjectModel)
    #expect { try ManagedObjectModel.named("NoShelfModel") } throws: {
      ErrorCode.modelNotFound ~= $0 && "\($0)".contains("xcdatamodeld")
    }
    #expect { try ManagedObjectModel(named: "NoShelfModel") } throws: { ErrorCode.modelNotFound ~= $0 }
  }

  @Test func `a name that leads out of the resources finds no file`() throws {
    let bundle = try directory.bundle("App.resources")
    try MusicFile.make().write(to: directory.file("Outside.xcdatamodeld"))
    try MusicFile.make().write(to: directory.file("\u{301}Outside.xcdatamodeld"))
    let outside = directory.file("Outside").path
    for name in ["../Outside", outside, "", ".", "..", "x/../../Outside", "Out\u{0}side", "../\u{301}Outside"] {
      #expect { try ManagedObjectModel(named: name, in: bundle, classes: .generic) } throws: {
        ErrorCode.modelNotFound ~= $0
      }
    }
  }

  @Test(arguments: ["My Model", "v1.2", "Größe", "a..b", "Model.xcdatamodeld"])
  func `names with spaces, dots and letters of all languages are found in the folders of a bundle`(name: String) throws
  {
    let bundle = try directory.bundle("App.resources")
    try MusicFile.make().write(to: directory.file("App.resources/Models/\(name).xcdatamodeld"))
    let model = try ManagedObjectModel(named: name, in: bundle, classes: .generic)
    #expect(model.name == name)
  }

  @Test func `several files of a name are one model if they are equal, and an error that names both if not`() throws {
    let bundle = try directory.bundle("App.resources")
    let file = try Self.file("<entity name=\"A\"></entity>")
    try file.write(to: directory.file("App.resources/One/Shelf.xcdatamodeld"))
    try FileManager.default.createSymbolicLink(
      at: directory.file("App.resources/Two"), withDestinationURL: directory.file("App.resources/One"))
    try FileManager.default.createSymbolicLink(
      at: directory.file("App.resources/One/Loop"), withDestinationURL: directory.file("App.resources"))
    #expect(try ManagedObjectModel(named: "Shelf", in: bundle).entities.map(\.name) == ["A"])
    try Self.file("<entity name=\"B\"></entity>").write(to: directory.file("App.resources/Three/Shelf.xcdatamodeld"))
    #expect { try ManagedObjectModel(named: "Shelf", in: bundle) } throws: {
      ErrorCode.invalidModel ~= $0 && "\($0)".contains("Three/Shelf.xcdatamodeld")
        && "\($0)".contains("One/Shelf.xcdatamodeld")
    }
  }
}
