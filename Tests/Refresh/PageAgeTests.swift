import CoherenceActions
import CoherenceCore
import CoherenceRefresh
import Synchronization
import Testing

@Suite("The age of pages of changes", .timeLimit(.minutes(15)))
struct PageAgeTests {
  /// A source without pending edits, which notes the beginnings of the requests that merges ask about.
  private final class NotedQueries: PendingEdits {
    private let times = Mutex<[ContinuousClock.Instant]>([])

    var requests: [ContinuousClock.Instant] { times.withLock { $0 } }

    func covers(_ entity: EntityDescription) -> Bool { true }

    func pendingEdits(_ query: PendingEditsQuery, in context: ManagedObjectContext) -> [PendingEdit] {
      if let time = query.requestedAt { times.withLock { $0.append(time) } }
      return []
    }

    func carryOut(_ decisions: [PendingDecision], in context: ManagedObjectContext) {}
  }

  @Test func `the merge of each page of changes knows the beginning of the request for the page`() async throws {
    let program = try Place().program()
    let edits = NotedQueries()
    program.connect.pendingEdits = edits
    let loads = Mutex<[ContinuousClock.Instant]>([])
    try program.refresher.register(changesOf: Song.self) { request in
      loads.withLock { $0.append(ContinuousClock.now) }
      let isFirst = request.cursor == nil
      return DeltaPage(
        records: [MergeRecord(["id": 1, "title": isFirst ? "one" : "two"])], cursor: isFirst ? "a" : "b",
        hasMore: isFirst)
    }
    try await program.refresher.refresh(Song.self)
    let times = loads.withLock { $0 }
    #expect(times.count == 2)
    #expect(edits.requests.contains { $0 <= times[0] })
    #expect(edits.requests.contains { $0 > times[0] && $0 <= times[1] })
    try await program.end()
  }
}
