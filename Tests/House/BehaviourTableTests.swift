import Foundation
import Testing

@Suite("The table of behaviours")
struct BehaviourTableTests {
  private let repository = Repository()

  @Test func `every test that the table names exists`() throws {
    for row in try rows() {
      let names = try testNames(in: row.file)
      #expect(!row.tests.isEmpty && row.tests.isSubset(of: names), "\(row.file): \(row.tests.subtracting(names))")
    }
  }

  @Test func `every test of a file that the table names has a row`() throws {
    let rows = try Dictionary(grouping: rows(), by: \.file)
    #expect(!rows.isEmpty)
    for (file, rows) in rows {
      let named = rows.reduce(into: Set<String>()) { $0.formUnion($1.tests) }
      let missing = try testNames(in: file).subtracting(named)
      #expect(missing.isEmpty, "Add these tests of \(file) to Behaviours.md.")
    }
  }

  private struct Row {
    let file: String
    let tests: Set<String>
  }

  private func rows() throws -> [Row] {
    let page = repository.root.appendingPathComponent("Modules/Actions/Actions.docc/Behaviours.md")
    let lines = try String(contentsOf: page, encoding: .utf8).components(separatedBy: "\n")
    return lines.filter { $0.hasPrefix("| ") && !$0.hasPrefix("| behaviour ") }.map { line in
      let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      return Row(file: cells[1], tests: quoted(in: cells[2...].joined(separator: "|")))
    }
  }

  /// The names of the tests of a file in `Tests/Actions`.
  private func testNames(in file: String) throws -> Set<String> {
    let path = "Tests/Actions/\(file).swift"
    let files = try repository.sources(in: "Tests/Actions").filter { $0.path == path }
    #expect(files.count == 1, "There is no \(path).")
    let declarations = files.flatMap(\.lines).filter { $0.contains("func `") }
    return declarations.reduce(into: []) { $0.formUnion(quoted(in: $1)) }
  }

  /// What stands between backticks.
  private func quoted(in text: String) -> Set<String> {
    let parts = text.components(separatedBy: "`")
    return Set(parts.indices.filter { !$0.isMultiple(of: 2) }.map { parts[$0] })
  }
}
