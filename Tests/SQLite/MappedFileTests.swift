#if os(Linux) && canImport(Runtime)
  import Dispatch
  import Foundation
  import Runtime
  import Synchronization
  import TestSupport
  import Testing

  @testable import CoherenceCore
  @testable import CoherenceSQLite

  /// The files that SQLite maps into the memory of the process, and the search for binary images in the mapped files.
  @Suite struct MappedFileTests {
    private final class Search: Sendable { let isOver = Atomic(false) }

    /// A statement that one thread releases.
    private final class LastStatement: @unchecked Sendable {
      // Sendable: the maker does not use the statement, and one other thread releases it.
      var statement: SQLiteStatement?
      init(_ statement: SQLiteStatement) { self.statement = statement }
    }

    /// In a process of its own, because the other programs of other tests unmap files without a guard.
    @Test func `a search for binary images finds them while other threads open and close stores`() async {
      await #expect(processExitsWith: .success) {
        ProcessLimit.begin()
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

    @Test func `the last statement of a closed connection unmaps the files of the connection after a search`() throws {
      let place = try TemporaryStore()
      let model = try ManagedObjectModel { Entity("Item") { Attribute("name", .string, optional: true) } }
      _ = try SQLiteFile.create(place.path)
      let connection = try SQLiteConnection(
        path: place.path, role: .writer, busyTimeout: 10, logger: place.environment(model).logger)
      let last = LastStatement(
        try connection.use { session in
          try session.execute("PRAGMA journal_mode = WAL")
          try session.execute("PRAGMA synchronous = OFF")
          try session.execute("CREATE TABLE item (a)")
          return try session.take("SELECT a FROM item")
        })
      connection.close()
      /// Whether the process has the index of the log open, which it unmaps and closes together.
      func isMapped() -> Bool {
        let descriptors = "/proc/self/fd/"
        let files = FileManager.default
        return ((try? files.contentsOfDirectory(atPath: descriptors)) ?? [])
          .compactMap { try? files.destinationOfSymbolicLink(atPath: descriptors + $0) }
          .contains { $0.contains(place.directory.lastPathComponent) && $0.hasSuffix("-shm") }
      }
      let (begun, hasEnded) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      let wasMapped = FileMappings.searching {
        Thread.detachNewThread {
          begun.signal()
          last.statement = nil
          hasEnded.signal()
        }
        begun.wait()
        for _ in 0..<10_000 { sched_yield() }
        return isMapped()
      }
      hasEnded.wait()
      #expect(wasMapped && !isMapped())
    }
  }
#endif
