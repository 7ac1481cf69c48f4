import Coherence
import DemoClient
import DemoService
import Testing

@Suite("Catalog synchronisation")
struct CatalogSyncTests {
  private let catalog = GeneratedCatalog(count: 230).catalog()

  @Test func `the first run stores all packages with their dependencies`() async throws {
    let scene = try Scene()
    let result = try await scene.run(catalog)
    #expect(result.outcome.isComplete)
    #expect(result.outcome.changes.inserted == 230 + catalog.sections.count + catalog.maintainers.count)
    #expect(result.rows.inserted.count == result.outcome.changes.inserted)
    let expected = Dictionary(uniqueKeysWithValues: catalog.packages.map { ($0.name, Set($0.depends)) })
    let dependencies = try await scene.withStack { stack in
      try await stack.connect.performBackgroundTask { context in
        let packages = try context.fetch(FetchRequest(Package.self))
        return Dictionary(uniqueKeysWithValues: packages.map { ($0.name, Set($0.dependencies.map(\.name))) })
      }
    }
    #expect(dependencies == expected)
  }

  @Test func `the second run writes no row`() async throws {
    let scene = try Scene()
    _ = try await scene.run(catalog)
    let second = try await scene.run(catalog)
    #expect(second.rows.isEmpty)
    #expect(second.outcome.changes.inserted == 0)
    #expect(second.outcome.changes.updated == 0)
    #expect(second.outcome.relinked == 0)
  }

  @Test func `three edits at the service change three rows`() async throws {
    let scene = try Scene()
    _ = try await scene.run(catalog)
    for _ in 1...2 {
      let result = try await scene.run(catalog, edits: 3)
      #expect(result.edited.count == 3)
      #expect(result.changed == result.edited)
      #expect(result.rows.updated.count == 3)
      #expect(result.rows.inserted.isEmpty && result.rows.deleted.isEmpty)
    }
  }

  @Test(arguments: [SyncStep.Phase.pulling, .linking, .pruning])
  func `the next run continues an interrupted run`(phase: SyncStep.Phase) async throws {
    let scene = try Scene()
    await #expect(throws: (any Error).self) {
      _ = try await scene.run(catalog) { step in
        if step.phase == phase, step.done == 2 { withUnsafeCurrentTask { $0?.cancel() } }
      }
    }
    let present = try await scene.withStack { try await RowVersions(of: $0).count }
    #expect(present >= 100)
    let second = try await scene.run(catalog)
    #expect(second.rows.updated.isEmpty)
    #expect(second.rows.inserted.count == 230 + catalog.sections.count + catalog.maintainers.count - present)
    let third = try await scene.run(catalog)
    #expect(third.rows.isEmpty && third.outcome.relinked == 0)
  }

  @Test func `the next run continues a run cancelled in the middle of a page`() async throws {
    let scene = try Scene()
    let halfway = HalfwayClient(answering: 3)
    let run = Task { [catalog] in try await scene.run(catalog, http: halfway) }
    await halfway.waitUntilHalfway()
    run.cancel()
    await #expect(throws: (any Error).self) { try await run.value }
    // Two pages are there as a whole, and nothing of the third.
    let packages = try await scene.withStack { stack in
      try await stack.connect.performBackgroundTask { try $0.count(for: FetchRequest(Package.self)) }
    }
    #expect(packages == 100)
    let second = try await scene.run(catalog)
    #expect(second.rows.updated.isEmpty && second.outcome.isComplete)
    let third = try await scene.run(catalog)
    #expect(third.rows.isEmpty)
  }

  @Test func `packages missing from the service are deleted, with sections and maintainers left without packages`()
    async throws
  {
    let scene = try Scene()
    _ = try await scene.run(catalog)
    let smaller = Catalog(Array(catalog.packages.prefix(5)))
    let result = try await scene.run(smaller)
    #expect(result.outcome.isComplete)
    let count = try await scene.withStack { try await RowVersions(of: $0).count }
    #expect(count == 5 + smaller.sections.count + smaller.maintainers.count)
  }
}
