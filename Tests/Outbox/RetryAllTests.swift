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
    let formerKeys = Set(entries.map(\.idempotencyKey))
    for entry in try await stack.outbox.entries(limit: 2 * count) {
      #expect(entry.state == .pending && !entry.isRejected && !formerKeys.contains(entry.idempotencyKey))
    }
    return fetches
  }

  @Test(arguments: Backend.available)
  func `the retry of all refused requests reads their entries together, and renews the keys of first and last entries`(
    backend: Backend
  ) async throws {
    let few = try await fetchesOfRetry(of: 2, on: backend)
    let many = try await fetchesOfRetry(of: 20, on: backend)
    #expect(many == few, "\(few) \(many)")
  }
}
