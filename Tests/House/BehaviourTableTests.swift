import Foundation
import Testing

/// The pages `Behaviours.md` of modules, which map promised behaviours to tests in the module's folder of `Tests`.
@Suite("The tables of behaviours")
struct BehaviourTableTests {
  /// The page of one module.
  struct Table: CustomTestStringConvertible {
    /// The catalogue with the page.
    let catalogue: String
    /// The folders whose tests need a row each; empty for all tests.
    var folders: [String] = []

    var testDescription: String { catalogue }
    var page: String { "Modules/\(catalogue)/Behaviours.md" }
    /// The folders of `Tests` whose files the table may name with their folder.
    static let others = ["Faults", "HTTP"]
    /// The folder of the tests that the table names.
    var tests: String { "Tests/\(catalogue.prefix { $0 != "/" })" }

    /// Whether each test of a file must have a row.
    func demandsRows(of file: String) -> Bool { folders.isEmpty || folders.contains { file.hasPrefix($0 + "/") } }
  }

  static let tables = [
    Table(catalogue: "Actions/Actions.docc"), Table(catalogue: "Strategies/Strategies.docc"),
    Table(catalogue: "Refresh/CoherenceRefresh.docc"),
    Table(catalogue: "Mapping/CoherenceMapping.docc", folders: ["Pinned", "Faults", "Mappings"]),
    Table(catalogue: "Outbox/CoherenceOutbox.docc", folders: ["Forwarding"]),
    Table(catalogue: "PersistedActions/CoherencePersistedActions.docc"),
  ]

  private let repository = Repository()

  @Test(arguments: tables)
  func `every test that a table names exists`(table: Table) throws {
    let existing = try testNames(of: table)
    for row in try rows(of: table) {
      let missing = row.tests.subtracting(existing[row.file, default: []])
      #expect(!row.tests.isEmpty && missing.isEmpty, "\(row.file): \(missing)")
    }
  }

  @Test(arguments: tables)
  func `every test in the folders of a table has a row`(table: Table) throws {
    let rows = try Dictionary(grouping: rows(of: table), by: \.file)
    #expect(!rows.isEmpty)
    let known = try testNames(in: table.tests)
    for (file, names) in try testNames(of: table)
    where rows[file] != nil || known[file] != nil && table.demandsRows(of: file) {
      let named = rows[file, default: []].reduce(into: Set<String>()) { $0.formUnion($1.tests) }
      let missing = names.subtracting(named)
      #expect(missing.isEmpty, "Add these tests of \(file) to \(table.page): \(missing)")
    }
  }

  private struct Row {
    let file: String
    let tests: Set<String>
  }

  private func rows(of table: Table) throws -> [Row] {
    let lines = try repository.lines(of: table.page)
    return lines.filter { $0.hasPrefix("| ") && !$0.hasPrefix("| behaviour ") }.map { line in
      let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      return Row(file: cells[1], tests: quoted(in: cells[2...].joined(separator: "|")))
    }
  }

  /// The names of the tests by file: those of the table's folder, and those of other folders with their folder.
  private func testNames(of table: Table) throws -> [String: Set<String>] {
    var names = try testNames(in: table.tests)
    for folder in Table.others {
      for (file, tests) in try testNames(in: "Tests/\(folder)") { names["\(folder)/\(file)"] = tests }
    }
    return names
  }

  /// The names of the tests in a folder by file, without empty files.
  private func testNames(in folder: String) throws -> [String: Set<String>] {
    let files = try repository.sources(in: folder).map { file in
      let declarations = file.lines.filter { $0.contains("func `") }
      let names = declarations.reduce(into: Set<String>()) { $0.formUnion(quoted(in: $1)) }
      return (String(file.path.dropFirst(folder.count + 1).dropLast(".swift".count)), names)
    }
    return Dictionary(uniqueKeysWithValues: files.filter { !$0.1.isEmpty })
  }

  /// The texts between backticks.
  private func quoted(in text: String) -> Set<String> {
    let parts = text.components(separatedBy: "`")
    return Set(parts.indices.filter { !$0.isMultiple(of: 2) }.map { parts[$0] })
  }
}
