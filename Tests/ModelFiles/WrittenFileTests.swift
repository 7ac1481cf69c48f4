import CoherenceCore
import CoherenceModelFiles
import Foundation
import Testing

/// The texts and packages that models in code and files become.
@Suite("Model files: writing")
struct WrittenFileTests {
  private let directory = PackageDirectory()

  private enum North { final class Shelf: ManagedObject {} }
  private enum South { final class Shelf: ManagedObject {} }

  @Test func `a file in the form of the editor is written without any change of its text`() throws {
    #expect(try MusicFile.make().xml == MusicFile.text)
  }

  @Test func `a file names the module of a class only if two classes have one name`() throws {
    let model = try ManagedObjectModel(
      name: "M",
      entities: [
        Entity("A", class: North.Shelf.self) {}, Entity("B", class: South.Shelf.self) {},
        Entity("C", class: Track.self) {}, Entity("D") {},
      ])
    let names = ModelFile(model).entities.map(\.className)
    #expect(names == [String(reflecting: North.Shelf.self), String(reflecting: South.Shelf.self), "Track", nil])
  }

  @Test func `a file lists orders, second rules and further version identifiers as omitted`() throws {
    let entity = Entity("A") {
      Attribute("n", .int64, optional: true, validation: [.minimum(.int(1)), .minimum(.int(2))])
      FetchedProperty("f", of: "A", sortedBy: [SortKey("n")])
    }
    let model = try ManagedObjectModel(name: "M", entities: [entity], versionIdentifiers: ["b", "a"])
    let file = ModelFile(model)
    #expect(file.versionIdentifier == "a")
    #expect(file.entities[0].attributes[0].minimum == "1")
    #expect(file.omissions.count == 3)
    for part in ["The order of 'A.f'", "A second rule of one kind for 'A.n'", "'a' only, of 2"] {
      #expect(file.omissions.contains { $0.contains(part) }, "\(part)")
    }
  }

  @Test func `an index is named by its properties, and inherited indexes and constraints are written once`() throws {
    let model = try ManagedObjectModel(
      name: "M",
      entities: [
        Entity("A", uniqueness: [["n"]], indexes: [["n"]]) { Attribute("n", .int64, default: 0) },
        Entity("B", parent: "A", indexes: [["m", "n"]]) { Attribute("m", .int64, default: 0) },
      ])
    let file = ModelFile(model)
    #expect(file.entities.map { $0.indexes.map(\.name) } == [["byN"], ["byMAndN"]])
    #expect(file.entities.map(\.uniqueness) == [[["n"]], []])
    #expect(file.entities.map { $0.attributes.map(\.name) } == [["n"], ["m"]])
  }

  @Test func `the numbers of a file have scalar types unless they are optional`() throws {
    let entity = Entity("A") {
      Attribute("i", .int32, default: 0)
      Attribute("o", .double, optional: true)
      Attribute("t", .string, default: "")
    }
    let attributes = ModelFile(try ManagedObjectModel(name: "M", entities: [entity])).entities[0].attributes
    #expect(attributes.map(\.usesScalarValueType) == [true, false, nil])
  }

  // MARK: Packages

  private static func file(_ name: String) -> ModelFile { ModelFile(entities: [ModelFile.Entity(name)]) }

  private static func package(_ versions: [String], current: String? = nil) -> ModelPackage {
    ModelPackage(name: "Music", versions: versions.map { .init($0, file($0)) }, currentVersion: current)
  }

  @Test func `without a named version the only version is current, or the version with the name of the package`()
    throws
  {
    #expect(try Self.package(["One"]).current.entities.map(\.name) == ["One"])
    #expect(try Self.package(["One", "Music"]).current.entities.map(\.name) == ["Music"])
    #expect(try Self.package(["One", "Music"], current: "One").current.entities.map(\.name) == ["One"])
    #expect { try Self.package(["Two", "One"]).current } throws: {
      ErrorCode.modelNotFound ~= $0 && "\($0)".contains("names no current version")
        && "\($0)".contains("it has: One, Two.")
    }
    #expect { try Self.package([]).version(named: "One") } throws: { "\($0)".contains("it has: none") }
  }

  @Test func `a package whose current version is missing is not written`() throws {
    let url = directory.file("Music.xcdatamodeld")
    #expect { try Self.package(["One"], current: "Two").write(to: url) } throws: {
      ErrorCode.modelNotFound ~= $0 && "\($0)".contains("'Two'")
    }
    #expect(!directory.has("Music.xcdatamodeld"))
  }

  @Test func `the name of the current version may lack the extension`() throws {
    let url = directory.file("Music.xcdatamodeld")
    try Self.package(["One", "Two"], current: "Two").write(to: url)
    let entries = "<key>a</key><string>b</string><key>_XCCurrentVersionName</key><string> One </string>"
    try Data("<plist><dict>\(entries)</dict></plist>".utf8).write(to: url.appendingPathComponent(".xccurrentversion"))
    #expect(try ModelPackage(contentsOf: url).currentVersion == "One")
  }

  @Test(arguments: [
    "<key>_XCCurrentVersionName</key>", "<key>_XCCurrentVersionName</key><string> </string>",
    "<key>_XCCurrentVersionName</key><integer>1</integer>", "<key>Other</key><string>One.xcdatamodel</string>", "",
  ])
  func `a property list without a text for the current version is an error`(entries: String) throws {
    let url = directory.file("Music.xcdatamodeld")
    try Self.package(["One"], current: "One").write(to: url)
    let complete = "<key>_XCCurrentVersionName</key><string>One.xcdatamodel</string>"
    for text in ["<plist><dict>\(entries)</dict></plist>", "<list><dict>\(complete)</dict></list>"] {
      try Data(text.utf8).write(to: url.appendingPathComponent(".xccurrentversion"))
      #expect { try ModelPackage(contentsOf: url) } throws: { ErrorCode.invalidModel ~= $0 }
    }
  }

  @Test func `a file written to a package without a named version replaces the only version`() throws {
    let url = directory.file("Music.xcdatamodeld")
    try Self.package(["One"], current: "One").write(to: url)
    try FileManager.default.removeItem(at: url.appendingPathComponent(".xccurrentversion"))
    try Self.file("New").write(to: url)
    let package = try ModelPackage(contentsOf: url)
    #expect(package.versions.map(\.name) == ["One"] && package.currentVersion == "One")
    #expect(try package.current.entities.map(\.name) == ["New"])
  }

  @Test func `a file written to a new package is its only version and has its name`() throws {
    let url = directory.file("Music.xcdatamodeld")
    try Self.file("New").write(to: url)
    let package = try ModelPackage(contentsOf: url)
    #expect(package.versions.map(\.name) == ["Music"] && package.currentVersion == "Music")
    #expect(package.name == "Music")
  }

  @Test func `the versions of a package are read in the order of their names`() throws {
    let url = directory.file("Music.xcdatamodeld")
    try Self.package(["Music 2", "Music", "A"], current: "A").write(to: url)
    #expect(try ModelPackage(contentsOf: url).versions.map(\.name) == ["A", "Music", "Music 2"])
  }

  @Test func `a former name that two entities would have belongs to the entity with the renaming identifier`() throws {
    let first = ModelFile(entities: [ModelFile.Entity("Old", attributes: [.init("x", .string, optional: true)])])
    let second = ModelFile(entities: [
      ModelFile.Entity("A", renamingIdentifier: "Key"), ModelFile.Entity("B", renamingIdentifier: "Old"),
    ])
    let third = ModelFile(entities: [ModelFile.Entity("A", renamingIdentifier: "Old"), ModelFile.Entity("B")])
    let package = ModelPackage(
      name: "M", versions: [.init("1", first), .init("2", second), .init("3", third)], currentVersion: "3")
    let model = try package.current.model(classes: .generic)
    // `B` had the identifier in the second version only.
    #expect(try model.entity(named: "A").formerNames == ["Old"])
    #expect(try model.entity(named: "B").formerNames == [])
  }
}
