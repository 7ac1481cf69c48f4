import Testing

/// The guarantees of the README and the files that it names for them.
@Suite("Named guarantees")
struct NamedGuaranteeTests {
  /// A row of the README's table: the name of a guarantee, and the file with its tests.
  private struct Guarantee {
    let name: String
    let path: String

    /// The name as a file has it.
    var fileName: String { name.split(separator: " ").map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined() }
  }

  private let repository = Repository()

  private func guarantees() throws -> [Guarantee] {
    let lines = try repository.lines(of: "README.md")
    let section = lines.drop { $0 != "## Guarantees" }.dropFirst().prefix { !$0.hasPrefix("## ") }
    return section.compactMap { line in
      let cells = line.split(separator: "|").map { $0.trimmingPrefix(" ") }
      guard line.hasPrefix("|"), cells.count >= 3, let path = cells[2].split(separator: "`").first,
        cells[2].hasPrefix("`")
      else { return nil }
      return Guarantee(name: cells[0].split(separator: " ").joined(separator: " "), path: "Tests/" + path)
    }
  }

  @Test func `the README lists the guarantees`() throws {
    let names = try guarantees().map(\.name)
    #expect(names.count >= 14)
    #expect(Set(names).count == names.count)
  }

  @Test func `a guarantee has tests in the file that the README lists, and the file has the guarantee's name`() throws {
    let files = try repository.sources(in: "Tests")
    for guarantee in try guarantees() {
      let file = try #require(files.first { $0.path == guarantee.path }, "There is no \(guarantee.path).")
      #expect([guarantee.fileName, guarantee.fileName + "Tests"].contains(file.name), "\(guarantee.path)")
      let tests = file.lines.count { $0.contains("@Test") || $0.contains("Case(\"") }
      #expect(tests >= 2, "\(guarantee.path) has few tests.")
    }
  }
}
