import Foundation
import Testing

@testable import Mutants

@Suite("The build of mutants")
struct MutantBuildTests {
  private let source = "let a = b == c\nlet d = [\n  e,\n  f,\n]\nlet g = h == i\n"

  /// One mutant at each line with a place, numbered from the top.
  private var mutants: [Mutant] {
    let sites = SiteFinder.sites(in: source, path: "A.swift")
    let first = [1, 2, 6].compactMap { line in sites.first { $0.line == line } }
    return first.enumerated().map { Mutant(number: $0.offset + 1, site: $0.element) }
  }

  @Test func `several mutants of a file stand in one text`() {
    let text = MutatedSource(source, mutants: mutants.reversed()).text
    #expect(
      text == """
        let a = (coherenceMutantIsActive(1) ? (b != c) : (b == c))
        let d = (coherenceMutantIsActive(2) ? ([f]) : ([
          e,
          f,
        ]))
        let g = (coherenceMutantIsActive(3) ? (h != i) : (h == i))

        """)
  }

  @Test func `an error is blamed on the mutant at its line or on the nearest one`() {
    let mutated = MutatedSource(source, mutants: mutants)
    #expect(mutated.mutants(blamedAt: 1).map(\.number) == [1])
    #expect(mutated.mutants(blamedAt: 4).map(\.number) == [2])
    #expect(mutated.mutants(blamedAt: 6).map(\.number) == [3])
    #expect(mutated.mutants(blamedAt: 99).map(\.number) == [3])
    #expect(MutatedSource(source, mutants: []).mutants(blamedAt: 1) == [])
  }

  @Test func `the errors of a build are found by file and line`() {
    let output = """
      [1/2] Compiling A A.swift
      /copy/Modules/A.swift:3:9: error: cannot convert value
      /copy/Modules/A.swift:3:12: error: cannot find 'b' in scope
      /copy/Modules/B.swift:14:1: warning: will never be executed
      /elsewhere/C.swift:1:1: error: not in the package
      /copy/Modules/D.swift:5:2: note: error: in a note
      error: fatalError
      """
    #expect(CompilerErrors(in: output, root: "/copy").lines == ["Modules/A.swift": [3]])
  }

  private static let description = """
    {"name": "p", "targets": [
      {"name": "Core", "type": "library", "path": "Modules/Core", "sources": ["A.swift", "Sub/B.swift"]},
      {"name": "C", "type": "library", "path": "Modules/C", "sources": ["c.c"]},
      {"name": "Plugin", "type": "macro", "path": "Modules/Plugin", "sources": ["P.swift"]},
      {"name": "Kit", "type": "library", "path": "Tests/Kit", "sources": ["K.swift"], "target_dependencies": ["Core"]},
      {"name": "KitTests", "type": "test", "path": "Tests/KitTests", "sources": [], "target_dependencies": ["Kit"]},
      {"name": "CoreTests", "type": "test", "path": "Tests/Core", "sources": [], "target_dependencies": ["Core"]},
      {"name": "MapTests", "type": "test", "path": "Tests/Map", "sources": [], "target_dependencies": ["Map"]}
    ]}
    """
  private let layout = Result {
    try JSONDecoder().decode(PackageLayout.self, from: Data(Self.description.utf8))
  }

  @Test func `only Swift sources of libraries in the folders have mutants`() throws {
    let libraries = try layout.get().libraryOfSource(in: ["Modules"])
    #expect(libraries.mapValues(\.name) == ["Modules/Core/A.swift": "Core", "Modules/Core/Sub/B.swift": "Core"])
    #expect(Array(try layout.get().libraryOfSource(in: ["Modules/Core/Sub"]).keys) == ["Modules/Core/Sub/B.swift"])
    #expect(Array(try layout.get().libraryOfSource(in: ["Modules/Core/A.swift"]).keys) == ["Modules/Core/A.swift"])
  }

  @Test func `tests that depend on a target see its mutants and direct ones come first`() throws {
    #expect(try layout.get().tests(seeing: "Core") == ["CoreTests", "KitTests"])
    #expect(try layout.get().tests(seeing: "Map") == ["MapTests"])
  }

  @Test func `a survivor is reported with its place and its code in one line each`() {
    #expect(
      MutationRun.description(of: mutants[1]) == """
        2: A.swift:2 drops an element
          - [ e, f, ]
          + [f]
        """)
  }
}
