import CoherenceActions
import CoherenceCore
import CoherenceOutbox
import Foundation
import Synchronization
import TestSupport
import Testing

/// Edits with values over 32 KB, which a search leaves out and a forwarder reads after the claim.
@Suite("Large values on their way to the server", .timeLimit(.minutes(15)))
struct LargeValueTests {
  private struct Attempt: Sendable, Equatable {
    let number: Int
    let photo: AttributeValue?
  }

  @Test(arguments: Backend.available)
  func `an edit with a large value is sent with the value, and each attempt counts once`(backend: Backend) async throws
  {
    let stack = try OutboxStack(on: backend)
    let photo = Data(repeating: 7, count: 40_000)
    let item = try stack.saveItem("Milk")
    try await stack.outbox.drop(try #require(try await stack.outbox.entries().first).id)
    try stack.change(item) { $0.photo = photo }
    let (stream, sent) = AsyncStream.makeStream(of: Attempt.self)
    try stack.outbox.forward("TestItem") { handlers in
      handlers.update { request in
        sent.yield(Attempt(number: request.attempt, photo: request.values["photo"]))
        return request.attempt == 1 ? .retry(after: .zero) : .accepted
      }
    }
    try stack.outbox.start()
    #expect(try await stack.outbox.flush() == 0)
    await stack.outbox.stop()
    sent.finish()
    var attempts: [Attempt] = []
    for await attempt in stream { attempts.append(attempt) }
    #expect(attempts == [Attempt(number: 1, photo: .data(photo)), Attempt(number: 2, photo: .data(photo))])
    #expect(try await stack.outbox.entries().isEmpty)
  }

  private struct Sent: Sendable, Equatable {
    let kind: OutboxEntry.Kind
    let base: AttributeValue?
    let photo: AttributeValue?
  }

  @Test(arguments: Backend.available, [32_767, 32_768, 32_769])
  func `edits are sent with their values on both sides of 32 KB, and leave no values behind`(
    backend: Backend, size: Int
  ) async throws {
    let stack = try OutboxStack(on: backend)
    let (first, last) = (Data(repeating: 1, count: size), Data(repeating: 2, count: size))
    let item = try stack.saveItem("Milk")
    for photo in [first, last] { try stack.change(item) { $0.photo = photo } }
    let requests = Mutex<[Sent]>([])
    try stack.outbox.forward("TestItem") { handlers in
      let send: @Sendable (ForwardRequest<ManagedObject>) -> ForwardAnswer = { request in
        requests.withLock {
          $0.append(Sent(kind: request.kind, base: request.base["photo"], photo: request.values["photo"]))
        }
        return .accepted
      }
      handlers.insert { send($0) }
      handlers.update { send($0) }
      handlers.delete { send($0) }
    }
    try stack.outbox.start()
    #expect(try await stack.outbox.flush() == 0)
    try stack.change(item) { $0.photo = first }
    #expect(try await stack.outbox.flush() == 0)
    try stack.delete(item)
    #expect(try await stack.outbox.flush() == 0)
    await stack.outbox.stop()
    // The outbox never keeps the large values of a deleted record.
    let deleted: AttributeValue? = size > 32_768 ? nil : .data(first)
    #expect(
      requests.withLock { $0 } == [
        Sent(kind: .insert, base: nil, photo: .data(last)),
        Sent(kind: .update, base: .data(last), photo: .data(first)),
        Sent(kind: .delete, base: deleted, photo: nil),
      ])
    #expect(try await stack.outbox.counts().total == 0)
    let contents = try stack.save {
      try $0.count(for: FetchRequest<ManagedObject>(entityName: "CoherenceOutboxContent"))
    }
    #expect(contents == 0)
  }

  @Test(arguments: Backend.available, [32_768, 32_769])
  func `a value that is changed and changed back is not sent, on both sides of 32 KB`(
    backend: Backend, size: Int
  ) async throws {
    let stack = try OutboxStack(on: backend)
    let (first, second) = (Data(repeating: 1, count: size), Data(repeating: 2, count: size))
    let (restored, renamed) = (try stack.saveItem("Milk"), try stack.saveItem("Rice"))
    for item in [restored, renamed] { try stack.change(item) { $0.photo = first } }
    // The drop of an insert drops the update after it too.
    for entry in try await stack.outbox.entries() where entry.kind == .insert {
      try await stack.outbox.drop(entry.id)
    }
    for photo in [second, first] {
      for item in [restored, renamed] { try stack.change(item) { $0.photo = photo } }
    }
    try stack.change(renamed) { $0.title = "Bread" }
    let sent = Mutex<[[String: AttributeValue]]>([])
    try stack.outbox.forward("TestItem") { handlers in
      handlers.update { request in
        sent.withLock { $0.append(request.values) }
        return .accepted
      }
    }
    try stack.outbox.start()
    #expect(try await stack.outbox.flush() == 0)
    await stack.outbox.stop()
    #expect(sent.withLock { $0 } == [["title": .string("Bread")]])
    #expect(try await stack.outbox.counts().total == 0)
  }
}
