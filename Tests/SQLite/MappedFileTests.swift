#if os(Linux) && canImport(Runtime)
  import CoherenceSQLite
  import Runtime
  import Synchronization
  import TestSupport
  import Testing

  @testable import CoherenceCore

  /// The files that SQLite maps into the memory of the process, and the search for binary images in the mapped files.
  @Suite struct MappedFileTests {
    private final class Search: Sendable { let isOver = Atomic(false) }

    @Test func `a search for binary images finds them while other threads open and close stores`() async throws {
      let model = try ManagedObjectModel { Entity("Item") { Attribute("name", .string, optional: true) } }
      let search = Search()
      try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<3 {
          group.addTask {
            var openings = 0
            repeat {
              let place = try TemporaryStore()
              let store = try place.open(model)
              try store.save(StoreSaveRequest(steps: [.insert(store.entity("Item"), [try store.row("Item", [:])])]))
              store.close()
              openings += 1
              await Task.yield()
            } while !search.isOver.load(ordering: .acquiring)
            return openings
          }
        }
        for _ in 0..<200 {
          #expect(!CallTrace.findImages().isEmpty)
          await Task.yield()
        }
        search.isOver.store(true, ordering: .releasing)
        for try await openings in group { #expect(openings > 0) }
      }
    }
  }
#endif
