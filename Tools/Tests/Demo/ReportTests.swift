import Coherence
import DemoClient
import DemoService
import Testing

@Suite("Report")
struct ReportTests {
  private let catalog = GeneratedCatalog(count: 120).catalog()

  @Test func `the needs of a package match the dependencies of the catalog at each distance`() async throws {
    let scene = try Scene()
    _ = try await scene.run(catalog)
    let name = try #require(catalog.packages.max { $0.depends.count < $1.depends.count }?.name)
    let needs = try await scene.withStack { stack in
      try await MainActor.run { try GraphAnswers(stack).needs(of: name) }
    }
    var expected: [[String]] = []
    var seen: Set<String> = [name]
    var frontier: Set<String> = [name]
    while !frontier.isEmpty {
      let next = Set(frontier.flatMap { catalog[$0]?.depends ?? [] }).subtracting(seen)
      if !next.isEmpty { expected.append(next.sorted()) }
      seen.formUnion(next)
      frontier = next
    }
    #expect(needs?.levels == expected)
  }

  @Test func `an unknown package needs no packages`() async throws {
    let needs = try await Scene().withStack { stack in
      try await MainActor.run { try GraphAnswers(stack).needs(of: "none") }
    }
    #expect(needs == nil)
  }

  @Test func `the most needed package is the package with the most dependents in the catalog`() async throws {
    let scene = try Scene()
    _ = try await scene.run(catalog)
    var dependents: [String: Int] = [:]
    for name in catalog.packages.flatMap(\.depends) { dependents[name, default: 0] += 1 }
    let most = try await scene.withStack { stack in try await MainActor.run { try GraphAnswers(stack).mostNeeded() } }
    #expect(most?.count == dependents.values.max())
  }

  @Test func `away from a terminal, progress is plain lines`() {
    var line = ProgressLine(isInteractive: false)
    let texts = (1...100).map { line.text(for: SyncStep(phase: .linking, done: $0, total: 100), note: "note") }
    #expect(texts.filter { !$0.isEmpty }.count == 4)
    #expect(texts.last == "Linking packages 100/100 · note\n")
    #expect(!texts.joined().contains("\r"))
  }

  @Test func `a table's columns are aligned`() {
    var table = TextTable(header: ["name", "n"])
    table.add(["a", "10"])
    #expect(table.lines == ["name   n", "────────", "a     10"])
  }
}
