import Foundation
import Testing

/// The pages `Behaviours.md` of modules, which map what can be relied on to tests in the module's folder of `Tests`.
@Suite("The tables of behaviours")
struct BehaviourTableTests {
  /// The modules that have such a page, by the folder of its catalogue.
  static let catalogues = ["Actions/Actions.docc", "Strategies/Strategies.docc"]

  private let repository = Repository()

  @Test(arguments: catalogues)
  func `every test that a table names exists`(catalogue: String) throws {
    let existing = try testNames(of: catalogue)
    for row in try rows(of: catalogue) {
      let missing = row.tests.subtracting(existing[row.file, default: []])
      #expect(!row.tests.isEmpty && missing.isEmpty, "\(row.file): \(missing)")
    }
  }

  @Test(arguments: catalogues)
  func `every test of a module with a table has a row`(catalogue: String) throws {
    let rows = try Dictionary(grouping: rows(of: catalogue), by: \.file)
    #expect(!rows.isEmpty)
    for (file, names) in try testNames(of: catalogue) {
      let named = rows[file, default: []].reduce(into: Set<String>()) { $0.formUnion($1.tests) }
      let missing = names.subtracting(named)
      #expect(missing.isEmpty, "Add these tests of \(file) to Behaviours.md: \(missing)")
    }
  }

  private struct Row {
    let file: String
    let tests: Set<String>
  }

  private func rows(of catalogue: String) throws -> [Row] {
    let lines = try repository.lines(of: "Modules/\(catalogue)/Behaviours.md")
    return lines.filter { $0.hasPrefix("| ") && !$0.hasPrefix("| behaviour ") }.map { line in
      let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      return Row(file: cells[1], tests: quoted(in: cells[2...].joined(separator: "|")))
    }
  }

  /// The names of the module's tests by file, without those files that have none.
  private func testNames(of catalogue: String) throws -> [String: Set<String>] {
    let folder = "Tests/\(catalogue.prefix { $0 != "/" })"
    let files = try repository.sources(in: folder).map { file in
      let declarations = file.lines.filter { $0.contains("func `") }
      let names = declarations.reduce(into: Set<String>()) { $0.formUnion(quoted(in: $1)) }
      return (String(file.path.dropFirst(folder.count + 1).dropLast(".swift".count)), names)
    }
    return Dictionary(uniqueKeysWithValues: files.filter { !$0.1.isEmpty })
  }

  /// What stands between backticks.
  private func quoted(in text: String) -> Set<String> {
    let parts = text.components(separatedBy: "`")
    return Set(parts.indices.filter { !$0.isMultiple(of: 2) }.map { parts[$0] })
  }
}
