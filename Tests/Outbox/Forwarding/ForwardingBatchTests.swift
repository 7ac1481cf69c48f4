import CoherenceCore
import CoherenceOutbox
import Synchronization
import TestSupport
import Testing

@Suite("Forwarding in batches")
struct ForwardingBatchTests {
  /// The numbers of edits in the calls of a batch handler.
  private final class Sizes: Sendable {
    private let content = Mutex<[Int]>([])
    var all: [Int] { content.withLock { $0 } }
    func add(_ size: Int) { content.withLock { $0.append(size) } }
  }

  private func stack(_ backend: Backend, limit: Int) throws -> (NoteStack, Sizes) {
    let stack = try NoteStack(backend)
    let sizes = Sizes()
    try stack.outbox.forward(Note.entityName) { [server = stack.server] handlers in
      handlers.batch(limit: limit) { requests in
        sizes.add(requests.count)
        return await server.receive(requests)
      }
    }
    for title in ["A", "B", "C"] { try stack.insertNote(title) }
    return (stack, sizes)
  }

  @Test(arguments: Backend.available)
  func `ready edits of several records are sent in batches up to the limit`(_ backend: Backend) async throws {
    let (stack, sizes) = try stack(backend, limit: 2)
    #expect(try await stack.forwardAll() == 0)
    #expect(sizes.all == [2, 1])
    #expect(try stack.ids() == ["A": "s1", "B": "s2", "C": "s3"])
  }

  @Test(arguments: Backend.available)
  func `an edit without a decision is sent again, and the other edits of the batch are acknowledged`(_ backend: Backend)
    async throws
  {
    let (stack, sizes) = try stack(backend, limit: 10)
    await stack.server.script(.answer(.accepted(["id": "x"])), .loseAnswer, .answer(.rejected(ServerRefusal())))
    #expect(try await stack.forwardAll() == 1)
    #expect(sizes.all == [3, 1])
    let calls = await stack.server.calls
    #expect(calls[1].key == calls[3].key)
    #expect(await stack.server.applied.count == 1)
    #expect(try stack.ids() == ["A": "x", "B": "s1", "C": "local-C"])
  }

  @Test func `a batch has at most a hundred edits by default, and a limit below one counts as one`() async throws {
    let (single, singleSizes) = try stack(.inMemory, limit: 0)
    #expect(try await single.forwardAll() == 0)
    #expect(singleSizes.all == [1, 1, 1])

    let (many, sizes) = (try NoteStack(), Sizes())
    try many.outbox.forward(Note.entityName) { [server = many.server] handlers in
      handlers.batch { requests in
        sizes.add(requests.count)
        return await server.receive(requests)
      }
    }
    try many.edit { context in
      for number in 0..<101 { try Note(context: context).id = "local-\(number)" }
    }
    #expect(try await many.forwardAll() == 0)
    #expect(sizes.all == [100, 1])
  }

  @Test(arguments: Backend.available)
  func `an edit that its batch handler never decides on is parked after the last attempt`(_ backend: Backend)
    async throws
  {
    let stack = try NoteStack(backend)
    try stack.outbox.forward(Note.entityName) { handlers in handlers.batch { _ in [:] } }
    try stack.insertNote("A")
    let events = stack.outbox.events
    let retry = RetryPolicy(attempts: 2, initialDelay: .zero, jitter: 0)
    #expect(try await stack.forwardAll(stack.options(retry: retry)) == 1)
    var errors: [any Error] = []
    for await event in events {
      if case .parked(_, error: let error) = event { errors.append(error) }
      if case .stopped = event { break }
    }
    #expect(errors.count == 1 && errors.allSatisfy { ErrorCode.forwardUnanswered ~= $0 })
    #expect(try await stack.outbox.entries(state: .parked).map(\.attempts) == [2])
  }

  @Test(arguments: Backend.available)
  func `the answers of a batch search for copies of their records together`(_ backend: Backend) async throws {
    let (stack, sizes) = try stack(backend, limit: 20)
    let titles = (0..<9).map { "N\($0)" }
    for title in titles { try stack.insertNote(title) }
    let operations = OperationLog()
    stack.outbox.coordinator.observer = operations
    #expect(try await stack.forwardAll() == 0)
    let fetches = operations.count(of: StackOperation(.fetch, Note.entityName))
    #expect(fetches <= sizes.all.count, "\(fetches) \(sizes.all)")
    let ids = try stack.ids()
    #expect(ids.count == 12 && ids.values.allSatisfy { $0.hasPrefix("s") })
  }

  @Test(arguments: Backend.available)
  func `a batch with a copy of one record replaces the copy`(_ backend: Backend) async throws {
    let (stack, sizes) = try stack(backend, limit: 20)
    let context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: stack.outbox.coordinator)
    context.recordsChanges = false
    try context.performAndWait {
      let copy = try Note(context: context)
      (copy.id, copy.title) = ("s2", "the copy of B")
      try context.save()
    }
    #expect(try await stack.forwardAll() == 0)
    #expect(sizes.all == [3])
    #expect(try stack.ids() == ["A": "s1", "B": "s2", "C": "s3"])
  }

  @Test func `all edits of a batch are sent again after an error of the handler`() async throws {
    let (stack, sizes) = try stack(.inMemory, limit: 10)
    try stack.outbox.forward(Note.entityName) { [server = stack.server] handlers in
      handlers.batch { requests in
        sizes.add(requests.count)
        if sizes.all.count == 1 { throw LostAnswer() }
        return await server.receive(requests)
      }
    }
    #expect(try await stack.forwardAll() == 0)
    #expect(sizes.all == [3, 3])
  }
}
