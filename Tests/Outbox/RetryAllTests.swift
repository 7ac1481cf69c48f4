import CoherenceCore
import CoherenceStrategies
import Foundation
import TestSupport
import Testing

@testable import CoherenceOutbox

/// The retry of all parked entries.
@Suite("The retry of all entries", .timeLimit(.minutes(15)))
struct RetryAllTests {
  /// Marks the first entry of each request as refused, with all entries of the request.
  private func refuse(_ requests: some Collection<[OutboxEntry]>, in stack: OutboxStack) throws {
    let context = stack.outbox.newContext()
    try context.performAndWait {
      for request in requests {
        let head = try stack.outbox.record(request[0].id, in: context)
        head.state = .parked
        head.isRejected = true
        head.groupEnd = request[request.count - 1].sequence
      }
      try context.save()
    }
  }

  /// Saves items with an edit each, as refused requests of two entries, and retries all of them.
  ///
  /// - Returns: The number of fetches of the retry.
  private func fetchesOfRetry(of count: Int, on backend: Backend) async throws -> Int {
    let stack = try OutboxStack(on: backend)
    for number in 0..<count {
      let item = try stack.saveItem("\(number)")
      try stack.change(item) { $0.title = "changed" }
    }
    let entries = try await stack.outbox.entries(limit: 2 * count)
    let requests = Dictionary(grouping: entries, by: \.record)
    #expect(requests.count == count && entries.count == 2 * count)
    try refuse(requests.values, in: stack)
    let operations = OperationLog()
    stack.outbox.coordinator.observer = operations
    #expect(try await stack.outbox.retryAll() == count)
    let fetches = operations.count(.fetch)
    let retried = try await stack.outbox.entries(limit: 2 * count)
    #expect(retried.allSatisfy { $0.state == .pending && !$0.isRejected })
    // The key of a request is that of its first entry, unless the request deletes the record.
    let formerKeys = Set(entries.map(\.idempotencyKey))
    #expect(Set(retried.lazy.map(\.idempotencyKey)).subtracting(formerKeys).count == count)
    return fetches
  }

  @Test(arguments: Backend.available)
  func `the retry of all refused requests reads their entries together, and renews the keys of the requests`(
    backend: Backend
  ) async throws {
    let few = try await fetchesOfRetry(of: 2, on: backend)
    let many = try await fetchesOfRetry(of: 20, on: backend)
    #expect(many == few, "\(few) \(many)")
  }

  @Test(arguments: Backend.available)
  func `the retry of the entries of one entity leaves the entries of other entities parked`(backend: Backend)
    async throws
  {
    let stack = try OutboxStack(on: backend)
    for title in ["Milk", "Bread"] { try stack.saveItem(title) }
    try stack.saveList("Home")
    for entry in try await stack.outbox.entries() { try await stack.outbox.park(entry.id, error: "refused") }
    #expect(try await stack.outbox.retryAll(in: "TestItem") == 2)
    #expect(try await stack.outbox.counts(in: "TestItem") == OutboxCounts(pending: 2))
    #expect(try await stack.outbox.counts(in: "TestList") == OutboxCounts(parked: 1))
  }

  @Test func `an entry that is parked again without a reason keeps its former one`() async throws {
    let stack = try OutboxStack(on: .inMemory)
    try stack.saveItem("Milk")
    let id = try #require(try await stack.outbox.entries().first).id
    for error in ["refused", nil] { try await stack.outbox.park(id, error: error) }
    #expect(try await stack.outbox.entry(id).lastError == "refused")
  }
}
