import CoherenceCore
import CoherenceOutbox
import TestSupport
import Testing

@Suite("Conflicts that a server reports")
struct ForwardingConflictTests {
  /// A note with the rank 5, which the server has with the rank 0. The server reports a conflict with the rank 9.
  private func stack(_ backend: Backend) async throws -> NoteStack {
    let stack = try NoteStack(backend)
    try stack.insertNote("A")
    try await stack.forwardAll()
    try stack.change("A") { $0.rank = 5 }
    await stack.server.script(.answer(.conflict(["rank": Int64(9)])))
    return stack
  }

  private func rank(_ stack: NoteStack) throws -> Int64 {
    try stack.read { try NoteStack.note("A", in: $0).rank }
  }

  @Test(arguments: Backend.available)
  func `an edit with a conflict is parked`(_ backend: Backend) async throws {
    let stack = try await stack(backend)
    #expect(try await stack.forwardAll() == 1)
    let entry = try #require(try await stack.outbox.entries(state: .parked).first)
    #expect(entry.lastError?.hasPrefix("forwardConflict") == true && entry.isRejected)
    #expect(try rank(stack) == 5)
    #expect(stack.outbox.statistics.conflicts == 1)
  }

  @Test(arguments: Backend.available)
  func `the values of the server replace the edit`(_ backend: Backend) async throws {
    let stack = try await stack(backend)
    #expect(try await stack.forwardAll(stack.options(conflictPolicy: .acceptServer)) == 0)
    #expect(try rank(stack) == 9)
    #expect(await stack.server.calls.count == 2)
  }

  @Test(arguments: Backend.available)
  func `the edit is sent again over the values of the server, under another key`(_ backend: Backend) async throws {
    let stack = try await stack(backend)
    #expect(try await stack.forwardAll(stack.options(conflictPolicy: .sendAgain)) == 0)
    let calls = await stack.server.calls
    #expect(calls.count == 3 && calls[1].key != calls[2].key)
    #expect(calls[1].base["rank"] == .int(0) && calls[2].base["rank"] == .int(9))
    #expect(await stack.server.records["s1"]?.values["rank"] == .int(5))
    #expect(try rank(stack) == 5)
  }

  @Test func `a program decides for each conflict`() async throws {
    let stack = try await stack(.inMemory)
    let policy = ForwardConflictPolicy.custom { request, values in
      values["rank"] == .int(9) && request["rank"] == .int(5) ? .acceptServer : .park
    }
    #expect(try await stack.forwardAll(stack.options(conflictPolicy: policy)) == 0)
    #expect(try rank(stack) == 9)
  }
}
