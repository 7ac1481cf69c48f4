import CoherenceConformance
import Foundation
import Testing

/// The page of the suite that maps the public API to cases.
@Suite("The table of promises and cases")
struct ConformanceTableTests {
  /// The rows of the page without their heads, cell by cell.
  private func rows() throws -> [[String]] {
    let root = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath()
      .deletingLastPathComponent().deletingLastPathComponent()
    let page = root.appendingPathComponent("ConformanceKit/CoherenceConformance.docc/PromisesAndCases.md")
    let lines = try String(contentsOf: page, encoding: .utf8).components(separatedBy: "\n")
    return lines.filter { $0.hasPrefix("| ") && !$0.hasPrefix("| function ") }
      .map { $0.components(separatedBy: "|").map { $0.trimmingCharacters(in: .whitespaces) } }
  }

  @Test func `every case that the table names exists`() throws {
    let existing = Set(ConformanceSuite.cases.map(\.name))
    let rows = try rows()
    #expect(rows.count > 50)
    for row in rows {
      let parts = row[3].components(separatedBy: "\"")
      let names = parts.indices.filter { !$0.isMultiple(of: 2) }.map { parts[$0] }
      #expect(!names.isEmpty, "\(row)")
      #expect(Set(names).subtracting(existing) == [], "\(row[1])")
    }
  }

  @Test func `the table has one row for each part of a function`() throws {
    let parts = try rows().map { "\($0[1]): \($0[2])" }
    #expect(Set(parts).count == parts.count)
  }
}
