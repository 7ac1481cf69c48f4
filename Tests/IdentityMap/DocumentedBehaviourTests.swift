import Foundation
import Testing

@Suite("The documentation's table of behaviours")
struct DocumentedBehaviourTests {
  private let tests = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent()

  @Test func `every row has its test and every test its row`() throws {
    let documented = try documentedTests()
    let written = try writtenTests()
    #expect(!documented.isEmpty && Set(documented).count == documented.count)
    #expect(Set(documented).subtracting(written).sorted() == [], "These rows have no test.")
    #expect(written.subtracting(documented).sorted() == [], "These tests have no row.")
  }

  /// The test names between backticks in the rows of the tables.
  private func documentedTests() throws -> [String] {
    let page = tests.deletingLastPathComponent().deletingLastPathComponent()
      .appendingPathComponent("Modules/IdentityMap/CoherenceIdentityMap.docc/Behaviours.md")
    return try String(contentsOf: page, encoding: .utf8).split(separator: "\n").filter { $0.hasPrefix("| ") }
      .compactMap { line in
        let parts = line.split(separator: "`", omittingEmptySubsequences: false)
        return parts.count == 3 ? String(parts[1]) : nil
      }
  }

  private func writtenTests() throws -> Set<String> {
    let files = try ["Pinned", "Faults"].flatMap { folder in
      let url = tests.appendingPathComponent(folder)
      return try FileManager.default.contentsOfDirectory(at: url, includingPropertiesForKeys: nil)
    }
    let sources = try (files + [tests.appendingPathComponent("BadInputTests.swift")])
      .filter { $0.pathExtension == "swift" }.map { try String(contentsOf: $0, encoding: .utf8) }
    return Set(sources.flatMap { source in source.matches(of: /func `([^`]+)`/).map { String($0.1) } })
  }
}
