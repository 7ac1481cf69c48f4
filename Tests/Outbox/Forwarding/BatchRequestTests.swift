import CoherenceCore
import CoherenceOutbox
import Synchronization
import TestSupport
import Testing

/// Batch requests of the store, whose records an outbox sends like the records of a save.
@Suite("Batch requests on their way to the server", .timeLimit(.minutes(15)))
struct BatchRequestTests {
  private struct Sent: Sendable, Hashable {
    let kind: OutboxEntry.Kind
    let code: AttributeValue?
    let amount: AttributeValue?

    init(_ kind: OutboxEntry.Kind, _ code: String, _ amount: Int64? = nil) {
      self.kind = kind
      self.code = .string(code)
      self.amount = amount.map(AttributeValue.int)
    }

    init(_ request: ForwardRequest<ManagedObject>) {
      kind = request.kind
      code = request.keys["code"]
      amount = request.values["amount"]
    }
  }

  private func stack(_ backend: Backend) throws -> OutboxStack {
    let model = try ManagedObjectModel {
      Entity("Jar", uniqueness: [["code"]]) {
        Attribute("code", .string)
        Attribute("amount", .int64, default: Int64(0))
      }
    }.addingOutbox()
    return try OutboxStack(on: backend, model: model, entities: ["Jar"])
  }

  private static func rows(_ amounts: [String: Int64]) -> [[String: AttributeValue]] {
    amounts.sorted { $0.key < $1.key }.map { ["code": .string($0.key), "amount": .int($0.value)] }
  }

  @Test(arguments: Backend.available)
  func `each record of a batch request is sent with its own change`(backend: Backend) async throws {
    let stack = try stack(backend)
    let received = Mutex<[Sent]>([])
    try stack.outbox.forward("Jar") { handlers in
      let receive: ForwardHandlers<ManagedObject>.Handler = { request in
        received.withLock { $0.append(Sent(request)) }
        return .accepted
      }
      handlers.insert(receive)
      handlers.update(receive)
      handlers.delete(receive)
    }
    try stack.outbox.start()
    let insert = BatchInsertRequest(entityName: "Jar", rows: Self.rows(["a": 1, "b": 2]))
    try stack.save { _ = try $0.execute(insert) }
    #expect(try await stack.outbox.flush() == 0)
    #expect(received.withLock { Set($0) } == [Sent(.insert, "a", 1), Sent(.insert, "b", 2)])
    received.withLock { $0 = [] }
    let upsert = BatchInsertRequest(
      entityName: "Jar", rows: Self.rows(["a": 5, "b": 2, "c": 3]), onDuplicate: .update(by: ["code"]))
    try stack.save { _ = try $0.execute(upsert) }
    #expect(try await stack.outbox.flush() == 0)
    #expect(received.withLock { Set($0) } == [Sent(.update, "a", 5), Sent(.insert, "c", 3)])
    received.withLock { $0 = [] }
    let update = BatchUpdateRequest(
      entityName: "Jar", predicate: try FetchPredicate(format: "amount > 2"), values: ["amount": Int64(3)])
    try stack.save { _ = try $0.execute(update) }
    #expect(try await stack.outbox.flush() == 0)
    #expect(received.withLock { Set($0) } == [Sent(.update, "a", 3)])
    received.withLock { $0 = [] }
    try stack.save { _ = try $0.execute(BatchDeleteRequest(entityName: "Jar")) }
    #expect(try await stack.outbox.flush() == 0)
    await stack.outbox.stop()
    #expect(received.withLock { Set($0) } == [Sent(.delete, "a"), Sent(.delete, "b"), Sent(.delete, "c")])
    #expect(try await stack.outbox.entries().isEmpty)
  }
}
