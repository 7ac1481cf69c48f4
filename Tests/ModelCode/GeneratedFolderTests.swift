import CoherenceCore
import CoherenceModelCode
import CoherenceModelFiles
import Foundation
import Testing

@Suite("Generated folders")
struct GeneratedFolderTests {
  private let source = "Music.xcdatamodeld"

  /// Runs a body with the URL of a folder, and removes the folder afterwards.
  private func withFolder(_ body: (URL) throws -> Void) throws {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("coherence-code-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: url) }
    try body(url)
  }

  private func code(_ entities: String..., style: CodeStyle = .class) throws -> GeneratedCode {
    let file = ModelFile(name: "Music", entities: entities.map { .init($0, attributes: [.init("title", .string)]) })
    return try ModelCode(file, source: source, options: CodeOptions(style: style)).generate()
  }

  private func date(of name: String, in folder: URL) throws -> Date? {
    let path = folder.appendingPathComponent(name).path
    return try FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date
  }

  @Test func `the first run makes the folder and writes every file`() throws {
    try withFolder { url in
      let report = try CodeFolder(url).write(try code("Album", "Track"), source: source)
      #expect(report.written == ["Album.swift", "Track.swift", "MusicModel.swift"])
      #expect(report.unchanged == [] && report.refused == [] && report.orphaned == [])
      let text = try String(contentsOf: url.appendingPathComponent("Track.swift"), encoding: .utf8)
      #expect(text.hasPrefix(GeneratedFile.headerMark))
    }
  }

  @Test func `a second run touches no file`() throws {
    try withFolder { url in
      let folder = CodeFolder(url)
      _ = try folder.write(try code("Track"), source: source)
      let path = url.appendingPathComponent("Track.swift").path
      let past = Date(timeIntervalSince1970: 1_000_000)
      try FileManager.default.setAttributes([.modificationDate: past], ofItemAtPath: path)
      let report = try folder.write(try code("Track"), source: source)
      #expect(report.written == [] && report.unchanged == ["Track.swift", "MusicModel.swift"])
      #expect(try date(of: "Track.swift", in: url) == past)
    }
  }

  @Test func `a generated file with other text is replaced`() throws {
    try withFolder { url in
      let folder = CodeFolder(url)
      _ = try folder.write(try code("Track"), source: source)
      let file = url.appendingPathComponent("Track.swift")
      let text = try String(contentsOf: file, encoding: .utf8)
      try (text + "// changed\n").write(to: file, atomically: true, encoding: .utf8)
      #expect(try folder.write(try code("Track"), source: source).written == ["Track.swift"])
      #expect(try String(contentsOf: file, encoding: .utf8) == text)
    }
  }

  @Test func `a file without the header is replaced by force alone, and keeps the run from writing`() throws {
    try withFolder { url in
      let folder = CodeFolder(url)
      try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
      let file = url.appendingPathComponent("Track.swift")
      try "final class Track {}\n".write(to: file, atomically: true, encoding: .utf8)
      let refused = try folder.write(try code("Album", "Track"), source: source)
      #expect(refused.refused == ["Track.swift"] && refused.written == [])
      #expect(refused.sentences.contains { $0.hasPrefix("error: 'Track.swift' has no header") })
      #expect(try FileManager.default.contentsOfDirectory(atPath: url.path) == ["Track.swift"])
      #expect(try String(contentsOf: file, encoding: .utf8) == "final class Track {}\n")
      let forced = try folder.write(try code("Album", "Track"), source: source, force: true)
      #expect(forced.written == ["Album.swift", "Track.swift", "MusicModel.swift"])
    }
  }

  @Test func `a class of the program is written once, and not replaced by force`() throws {
    try withFolder { url in
      let folder = CodeFolder(url)
      let first = try folder.write(try code("Track", style: .base), source: source)
      #expect(first.written == ["TrackBase.swift", "MusicModel.swift", "Track.swift"])
      let file = url.appendingPathComponent("Track.swift")
      try "final class Track: TrackBase {}\n".write(to: file, atomically: true, encoding: .utf8)
      #expect(try folder.write(try code("Track", style: .base), source: source, force: true).written == [])
      #expect(try String(contentsOf: file, encoding: .utf8) == "final class Track: TrackBase {}\n")
    }
  }

  @Test func `a change to base classes replaces the generated classes by classes of the program`() throws {
    try withFolder { url in
      let folder = CodeFolder(url)
      _ = try folder.write(try code("Track"), source: source)
      let report = try folder.write(try code("Track", style: .base), source: source)
      #expect(report.written == ["TrackBase.swift", "Track.swift"])
      let back = try folder.write(try code("Track"), source: source)
      #expect(back.refused == ["Track.swift"] && back.orphaned == ["TrackBase.swift"])
    }
  }

  @Test func `a file of an entity that the model has no more is reported and stays`() throws {
    try withFolder { url in
      let folder = CodeFolder(url)
      _ = try folder.write(try code("Album", "Track"), source: source)
      let other = ModelCode(ModelFile(name: "Shop", entities: [.init("Order")]), source: "Shop.xcdatamodeld")
      _ = try folder.write(try other.generate(), source: "Shop.xcdatamodeld")
      let report = try folder.write(try code("Track"), source: source)
      #expect(report.orphaned == ["Album.swift"])
      #expect(report.sentences.contains { $0.contains("'Album.swift'") })
      #expect(FileManager.default.fileExists(atPath: url.appendingPathComponent("Album.swift").path))
    }
  }

  @Test func `writing into a file instead of a folder throws an error with the path`() throws {
    try withFolder { url in
      try "text".write(to: url, atomically: true, encoding: .utf8)
      let error = try #require(throws: CoherenceError.self) {
        _ = try CodeFolder(url.appendingPathComponent("inner")).write(try code("Track"), source: source)
      }
      #expect(error.code == .inputOutput)
      #expect(error.message.contains("inner/Track.swift"))
    }
  }

  @Test func `a report encodes to JSON with the names of the files`() throws {
    var report = CodeReport()
    report.written = ["Track.swift"]
    let data = try JSONEncoder().encode(report)
    #expect(try JSONDecoder().decode(CodeReport.self, from: data) == report)
    #expect(String(decoding: data, as: UTF8.self).contains(#""written":["Track.swift"]"#))
  }
}
