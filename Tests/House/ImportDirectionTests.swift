import Testing

@Suite("Import directions")
struct ImportDirectionTests {
  private let repository = Repository()

  @Test(arguments: ImportTable.allowed.keys.sorted())
  func `a folder imports only the modules that the table allows it`(folder: String) throws {
    let allowed = ImportTable.allowed[folder, default: []]
    let places = try repository.sources(in: folder).flatMap { file in
      file.places { line in Self.ownModule(importedBy: line).map { !allowed.contains($0) } ?? false }
    }
    #expect(places == [], "\(folder) may import \(allowed.sorted()) of ours only.")
  }

  @Test func `every folder of modules and backends is in the table`() throws {
    for parent in ["Modules", "Backends"] {
      for folder in try repository.folders(in: parent) {
        #expect(ImportTable.allowed["\(parent)/\(folder)"] != nil, "Add \(parent)/\(folder) to the table of imports.")
      }
    }
  }

  @Test func `only the face and the tests know a backend`() throws {
    let backends: Set = ["CoherenceInMemory", "CoherenceSQLite", "CoherencePostgreSQL"]
    for (folder, allowed) in ImportTable.allowed where folder != "Modules/Coherence" {
      #expect(allowed.isDisjoint(with: backends), "\(folder) may not know a backend.")
    }
  }

  @Test func `products are tested in clients through public members alone`() throws {
    let places = try repository.sources(in: "Tests/Clients", "Tests/ConformanceKit").flatMap { file in
      // Tests may see the internal members of the clients' own programs. The names of these programs begin with a small
      // letter, except for `Todo` and `MusicClient`.
      file.places { $0.contains("@testable") && !$0.contains(/@testable import ([a-z]|Todo$|MusicClient$)/) }
    }
    #expect(places == [])
  }

  @Test(
    arguments: [
      ("import CoherenceCore", "CoherenceCore"), ("public import Coherence", "Coherence"),
      ("@_exported import CoherenceSQL", "CoherenceSQL"), ("@testable internal import CoherenceCore", "CoherenceCore"),
      ("  import struct CoherenceCore.Row", "CoherenceCore"), ("import Foundation", nil),
      ("// import CoherenceCore", nil),
      ("let name = \"import CoherenceCore\"", nil),
    ] as [(String, String?)])
  func `an import is recognised in all its forms`(line: String, module: String?) {
    #expect(Self.ownModule(importedBy: line) == module)
  }

  /// The module of this package that a line imports; `nil` for other lines.
  private static func ownModule(importedBy line: String) -> String? {
    var words = line.split { " \t".contains($0) }.drop { $0.hasPrefix("@") || accessLevels.contains($0) }
    guard words.popFirst() == "import" else { return nil }
    if let kind = words.first, declarationKinds.contains(kind) { words.removeFirst() }
    guard let module = words.first?.prefix(while: { $0 != "." }), module.hasPrefix("Coherence") else { return nil }
    return String(module)
  }

  private static let accessLevels: Set<Substring> = ["public", "package", "internal", "fileprivate", "private"]
  private static let declarationKinds: Set<Substring> = [
    "struct", "class", "enum", "protocol", "typealias", "func", "let", "var",
  ]
}
