import CoherenceCore
import CoherenceModelCode
import CoherenceModelFiles
import Foundation
import Testing

@Suite("Generating from a model package")
struct GenerateFromPackageTests {
  /// Runs a body with a model package and a folder for sources, both removed afterwards.
  private func withPackage(_ body: (_ model: URL, _ sources: URL) throws -> Void) throws {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("coherence-model-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: url) }
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    let model = url.appendingPathComponent("Music.xcdatamodel")
    try MusicFile.file.write(to: model)
    try body(model, url.appendingPathComponent("Sources"))
  }

  @Test func `a package gives the same sources as its model file`() throws {
    try withPackage { (model, sources) throws in
      let report = try ModelCode.write(model: model, into: sources)
      let code = try ModelCode(ModelFile(contentsOf: model), source: "Music.xcdatamodel").generate()
      #expect(report.written == code.files.map(\.name))
      #expect(report.warnings == code.warnings)
      for file in code.files {
        #expect(try String(contentsOf: sources.appendingPathComponent(file.name), encoding: .utf8) == file.text)
      }
      #expect(try ModelCode.write(model: model, into: sources).written == [])
    }
  }

  @Test func `a build writes all classes into one file, and touches the file only for a change`() throws {
    try withPackage { (model, sources) throws in
      let file = sources.appendingPathComponent("Music+Entities.swift")
      #expect(try ModelCode.write(model: model, intoFile: file).written == ["Music+Entities.swift"])
      #expect(try String(contentsOf: file, encoding: .utf8).contains("final class Song: ManagedObject {"))
      #expect(try ModelCode.write(model: model, intoFile: file).unchanged == ["Music+Entities.swift"])
    }
  }

  @Test func `classes of a package have the former names of all its versions`() throws {
    func version(_ entity: String, _ title: String, _ links: String, after former: [String?] = [nil, nil, nil])
      -> ModelFile
    {
      ModelFile(entities: [
        .init(
          entity, renamingIdentifier: former[0], attributes: [.init(title, .string, renamingIdentifier: former[1])],
          relationships: [.init(links, to: entity, isToMany: true, renamingIdentifier: former[2])])
      ])
    }
    let package = ModelPackage(
      name: "Chain",
      versions: [
        .init("1", version("Song", "caption", "links")),
        .init("2", version("Track", "heading", "ties", after: ["Song", "caption", "links"])),
        .init("3", version("Piece", "title", "bonds", after: ["Track", "heading", "ties"])),
      ], currentVersion: "3")
    try withPackage { (model, sources) throws in
      let url = model.deletingLastPathComponent().appendingPathComponent("Chain.xcdatamodeld")
      try package.write(to: url)
      let file = sources.appendingPathComponent("Chain+Entities.swift")
      _ = try ModelCode.write(model: url, intoFile: file)
      let text = try String(contentsOf: file, encoding: .utf8)
      #expect(text.contains(#"@Entity(formerNames: ["Track", "Song"])"#), "\(text)")
      #expect(text.contains(#"@Attribute(formerNames: ["heading", "caption"]) var title: String"#))
      #expect(text.contains(#"@Relationship(formerNames: ["ties", "links"]) var bonds: ToMany<Piece>"#))
    }
  }

  @Test func `a missing model is an error that names the path`() {
    let missing = URL(fileURLWithPath: "/nowhere/Missing.xcdatamodeld")
    let error = #expect(throws: CoherenceError.self) {
      _ = try ModelCode.write(model: missing, into: URL(fileURLWithPath: "/nowhere/Sources"))
    }
    #expect(error?.message.contains("Missing.xcdatamodeld") == true)
  }
}
