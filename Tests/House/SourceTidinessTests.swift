import Testing

@Suite("Tidiness of the sources")
struct SourceTidinessTests {
  private let repository = Repository()

  @Test func `no file is longer than 400 lines`() throws {
    let files = try repository.sources(in: "Modules", "Backends", "Tests", "Tools")
    #expect(files.filter { $0.lines.count > 400 }.map(\.path) == [], "Split these files by subject.")
  }

  @Test func `traps in contexts, objects, reads and saves print a sentence in release builds`() throws {
    let folders = ["Changes", "Confinement", "Context", "Coordinator", "Objects", "Reading", "Save"].map {
      "Modules/Core/\($0)"
    }
    let places = try folders.flatMap { try repository.sources(in: $0) }.flatMap { file in
      let checks = Self.linesOfInvariantChecks(in: file)
      return file.lines.indices.filter { line in
        !Self.traps.isDisjoint(with: Self.calls(of: file.lines[line])) && !checks.contains { $0.contains(line + 1) }
      }
      .map { "\(file.path):\($0 + 1)" }
    }
    #expect(places == [], "Throw an error, or use `Misuse`.")
  }

  @Test func `the core names a backend only as the default of a configuration`() throws {
    let names = ["sqlite", "postgres", "inmemory"]
    let places = try repository.sources(in: "Modules/Core").flatMap { file in
      file.lines.map(Self.trimmed).filter { line in
        !line.hasPrefix("//") && names.contains { line.lowercased().contains($0) }
      }
      .map { "\(file.path): \($0)" }
    }
    let allowed = "Modules/Core/Store/StoreConfiguration.swift: public static let type: StoreType = \"SQLite\""
    #expect(places == [allowed], "Ask the store for its capabilities.")
  }

  @Test func `the sources contain no markers of postponed work`() throws {
    // Spelt in two parts, so that this file does not find itself.
    let marks: Set = ["TO" + "DO", "FIX" + "ME", "XX" + "X"]
    let files = try repository.sources(in: "Modules", "Backends", "Tests", "Tools").filter { $0.mentions(marks) }
    let places = files.flatMap { file in
      file.places { line in Self.words(of: line).contains { marks.contains(String($0)) } }
    }
    #expect(places == [], "Do the work, or remove the note.")
  }

  @Test func `no task-local value is a function`() throws {
    // Spelt in two parts, so that this file does not find itself.
    let mark = "@Task" + "Local"
    // The tests themselves are built without optimization, and the conformance suite by other packages.
    let sources = try repository.sources(in: "Modules", "Backends", "Tests/ConformanceKit", "Tools")
    let places = sources.flatMap { file in
      let functions = Self.namedFunctionTypes(in: file)
      return file.places { line in
        line.contains(mark) && (line.contains("->") || Self.words(of: line).contains { functions.contains($0) })
      }
    }
    #expect(places == [], "Wrap the function in a structure: an optimized build ends at such a value.")
  }

  @Test func `file names name a subject`() throws {
    let empty = ["Utils", "Util", "Utilities", "Helpers", "Helper", "Misc", "Common"]
    let vague = try repository.sources(in: "Modules", "Backends", "Tests", "Tools/Sources", "Tools/Mutation").filter {
      file in
      empty.contains { file.name.hasSuffix($0) }
    }
    #expect(vague.map(\.path) == [], "Name these files for their subjects.")
  }

  /// The lines of the functions that check the invariants of a type, which only debug builds do.
  private static func linesOfInvariantChecks(in file: SourceFile) -> [Range<Int>] {
    CodeFunction.functions(in: CodeToken.tokens(of: file.code))
      .filter { $0.name == "checkInvariants" }
      .map { $0.line..<($0.line + $0.length) }
  }

  /// The names that a file gives to types of functions.
  private static func namedFunctionTypes(in file: SourceFile) -> Set<Substring> {
    Set(
      file.lines.filter { $0.contains("typealias ") && $0.contains("->") }.compactMap { line in
        words(of: line).drop { $0 != "typealias" }.dropFirst().first
      })
  }

  private static let traps: Set<Substring> = [
    "assert", "assertionFailure", "precondition", "preconditionFailure", "fatalError",
  ]

  private static func words(of line: String) -> [Substring] {
    line.split { !$0.isLetter }
  }

  /// The words that an opening parenthesis follows.
  private static func calls(of line: String) -> [Substring] {
    line.indices.filter { line[$0] == "(" }.compactMap { index in
      let words = line[..<index].split { !$0.isLetter }
      // A declaration is no call.
      return words.dropLast().last == "func" ? nil : words.last
    }
  }

  private static func trimmed(_ line: String) -> Substring {
    line.drop { $0.isWhitespace }
  }
}
