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
